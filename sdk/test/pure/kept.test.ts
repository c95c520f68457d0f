/** The wrapper around the application's store. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type AccessKey, memoryStore } from '../../src/index.ts'
import { keepIn } from '../../src/kept.ts'

test('a slow write does not overwrite a newer one, and what was cleared is not written again', async () => {
  const memory = memoryStore()
  const written: string[] = []
  let fails = true
  const store = keepIn({
    ...memory,
    write: async (credentials) => {
      const { accessKey } = credentials as AccessKey
      if (accessKey === 'slow') await sleep(50)
      if (accessKey === 'lost' && fails) throw new Error('no space')
      written.push(accessKey)
      await memory.write(credentials)
    },
  })
  const key = (accessKey: string): AccessKey => ({ variant: 'access_key', accessKey, scope: [], state: '' })
  await Promise.all([store.write(key('slow')), store.read(), store.write(key('new'))])
  expect(written).toEqual(['slow', 'new'])
  await expect(store.write(key('lost'))).rejects.toMatchObject({ code: 'store' })
  await store.clear()
  fails = false
  expect(await store.read()).toBeNull()
})
