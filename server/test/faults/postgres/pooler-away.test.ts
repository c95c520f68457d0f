/** PgBouncer with few connections, and restarted: docs/operations/connections.md, "Connection poolers". */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { type PgBouncer, startPgBouncer } from '../../rig/engines/pgbouncer.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

useOwnTimeouts()

let bouncer: PgBouncer
let database: TestDatabase
let service: TestService
beforeAll(async () => {
  bouncer = await startPgBouncer(3)
  database = await createTestDatabase()
  service = await startTestService({ DATABASE_URL: bouncer.through(database.url) })
})
afterAll(async () => {
  await service?.stop()
  await database?.drop()
  await bouncer?.remove()
})

it('F11: more requests than connections wait in a bounded queue, which takes them less than five seconds, and then all is as before', async () => {
  const direct = await startTestService({ DATABASE_URL: database.url })
  onTestFinished(() => direct.stop())
  const withoutQueue = await requestMany(direct)
  const { answers, ms } = await requestMany(service)
  expect(ms - withoutQueue.ms).toBeLessThan(5_000)
  expect(answers.filter(({ status, body }) => status !== 200 && body.error !== 'unavailable')).toEqual([])
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
  await expect.poll(async () => (await service.device().request()).status, { timeout: 30_000 }).toBe(200)
  for (const { used, max, waiting } of service.context.db.pools()) expect([used <= max, waiting]).toEqual([true, 0])
})

async function requestMany(from: TestService) {
  const begun = performance.now()
  const answers = await Promise.all(Array.from({ length: 200 }, () => from.device().request()))
  return { answers, ms: performance.now() - begun }
}

it('F11: PgBouncer is restarted: polls are answered auth_pending meanwhile, and within five seconds everything works again', async () => {
  const device = service.device()
  const code = await device.code()
  await bouncer.stop()
  expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
  expect(await device.request()).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  await bouncer.start()
  const back = performance.now()
  await expect.poll(async () => (await device.request()).status, { timeout: 30_000 }).toBe(200)
  expect(await service.grant(code.user_code)).toBe('granted')
  await expect.poll(async () => (await device.poll(code.device_code)).status, { timeout: 30_000 }).toBe(200)
  expect(performance.now() - back).toBeLessThan(5_000)
})
