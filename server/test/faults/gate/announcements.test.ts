/** Announcements of decisions by Redis that come too early, again, too late or for nothing: they only ever lead to a read. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { digestOf } from '../../rig/witness.ts'

const CODES = 6
const TIMES = 20

let service: TestService
let redis: Redis
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL'), POLL_INTERVAL: '1' })
  redis = new Redis(engineUrl('REDIS_URL'))
})
afterAll(async () => {
  redis.disconnect()
  await service.stop()
})

it('F50: a decision is delivered once, however often, early or late it is announced, and a code that nobody decided stays pending', async () => {
  const device = service.device()
  const codes = await Promise.all(
    Array.from({ length: CODES }, async () => {
      const code = await device.code()
      const [row] = await service.database.query<{ id: string }>(
        'select id from device_codes where user_code_digest = $1',
        [digestOf(service, code.user_code)],
      )
      return { ...code, id: row?.id ?? '', user: await makeUser(service.context.db, service.account.slug) }
    }),
  )
  const announce = async () => {
    const ids = [...codes.map(({ id }) => id), 'no id', '00000000-0000-7000-8000-000000000000']
    await Promise.all(Array.from({ length: TIMES }, () => ids.map((id) => redis.publish('decided', id))).flat())
  }
  const heard = new Map<string, string[]>(codes.map(({ device_code }) => [device_code, []]))
  const live = async (deviceCode: string) => {
    for (;;) {
      const { status, body } = await device.poll(deviceCode, { prefer: 'wait=5' })
      const word = status === 200 ? 'accepted' : body.error
      heard.get(deviceCode)?.push(word)
      if (word === 'invalid') return
      await sleep(200)
    }
  }
  const [undecided, ...decided] = codes
  const devices = decided.map(({ device_code }) => live(device_code))
  await sleep(500)
  await announce()
  await sleep(500)
  expect(new Set([...heard.values()].flat()).difference(new Set(['auth_pending', 'slow_down']))).toEqual(new Set())
  await Promise.all(
    decided.map(async ({ user_code, user }, index) => {
      const outcome = index % 2 === 0 ? service.grant(user_code, user) : service.reject(user_code, user)
      await announce()
      expect(await outcome).toBe(index % 2 === 0 ? 'granted' : 'rejected')
      await announce()
    }),
  )
  await Promise.all(devices)
  await announce()
  for (const [index, { device_code }] of decided.entries()) {
    const final = heard.get(device_code)?.filter((word) => word !== 'auth_pending' && word !== 'slow_down')
    expect(final).toEqual([index % 2 === 0 ? 'accepted' : 'auth_rejected', 'invalid'])
    expect((await device.poll(device_code)).body.error).toBe('invalid')
  }
  expect((await device.poll(undecided?.device_code ?? '')).body.error).toBe('auth_pending')
})
