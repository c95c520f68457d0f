/** The wrapper around the application's store. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type AccessKey, memoryStore } from '../../src/index.ts'
import { keepIn } from '../../src/kept.ts'

const key = (accessKey: string): AccessKey => ({ variant: 'access_key', accessKey, scope: [], state: '' })

test('writes reach the store in the order of their calls, even if the first is slow', async () => {
  const memory = memoryStore()
  const written: string[] = []
  const store = keepIn({
    ...memory,
    write: async (credentials) => {
      const { accessKey } = credentials as AccessKey
      if (accessKey === 'slow') await sleep(50)
      written.push(accessKey)
      await memory.write(credentials)
    },
  })
  await Promise.all([store.write(key('slow')), store.read(), store.write(key('new'))])
  expect(written).toEqual(['slow', 'new'])
})

test('clear also forgets credentials that the store failed to write', async () => {
  const memory = memoryStore()
  let fails = true
  const store = keepIn({
    ...memory,
    write: async (credentials) => {
      if (fails) throw new Error('no space')
      await memory.write(credentials)
    },
  })
  await expect(store.write(key('lost'))).rejects.toMatchObject({ code: 'store' })
  await store.clear()
  fails = false
  expect(await store.read()).toBeNull()
})
