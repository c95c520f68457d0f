/** RL-11: Redis stops while it counts. User actions stay limited, code requests are counted in process, polls continue. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRedis } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { post } from '../../rig/device.ts'
import { makeUser } from '../../rig/make.ts'
import { USERS_FROM } from '../../rig/origins/users-from.ts'
import { missTimes, someNetwork, somewhere } from '../../rig/scenes/guesses.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'

const PER_NETWORK = 10

const folder = mkdtempSync(join(tmpdir(), 'latchkey-limits-'))
let redis: ReturnType<typeof createRedis>
let service: TestService
beforeAll(async () => {
  redis = createRedis(folder, await freePort())
  redis.start()
  service = await startTestService({
    REDIS_URL: redis.url,
    TRUST_PROXY: '127.0.0.1',
    CODE_REQUESTS_PER_NETWORK: String(PER_NETWORK),
    CODE_REQUESTS_PER_APPLICATION: '1000',
  })
  while (service.context.gate.answers === false) await sleep(10)
})
afterAll(async () => {
  await service.stop()
  redis.stop('SIGTERM')
  removeFolder(folder)
})

const ask = (headers: Record<string, string>) =>
  post(service.address, '/auth/oauth/device/code', { form: service.device().credentials, headers })

async function askedInARow(headers: Record<string, string>, times: number): Promise<Record<number, number>> {
  const counted: Record<number, number> = {}
  for (let time = 0; time < times; time += 1) {
    const { status } = await ask(headers)
    counted[status] = (counted[status] ?? 0) + 1
  }
  return counted
}

async function expectLimitedSignIn(): Promise<void> {
  const { email } = await makeUser(service.context.db, service.account.slug, { password: 'a quiet green harbour' })
  const browser = service.web(someNetwork())
  const failures: number[] = []
  for (let time = 0; time < 12; time += 1) failures.push((await browser.signIn(email, 'not the password')).status)
  expect(
    failures.slice(0, 10).every((status) => status === 400 || status === 403),
    String(failures),
  ).toBe(true)
  expect(failures.slice(10), 'sign-in').toEqual([429, 429])
}

it('RL-11: with Redis stopped, sign-in, code entry and code requests stay limited, and polls are answered', async () => {
  expect(await askedInARow(someNetwork(), 15)).toEqual({ 200: PER_NETWORK, 429: 5 })
  const device = service.device()
  const waiting = (await ask(someNetwork())).body

  redis.stop('SIGKILL')
  const begun = performance.now()
  expect(await askedInARow(someNetwork(), 15), 'counted by the process itself').toEqual({ 200: PER_NETWORK, 429: 5 })
  expect((performance.now() - begun) / 15, 'nobody waits for Redis').toBeLessThan(300)
  const polls: string[] = []
  for (let time = 0; time < 5; time += 1) polls.push((await device.poll(waiting.device_code)).body.error)
  expect(polls).toEqual(['auth_pending', 'slow_down', 'slow_down', 'slow_down', 'slow_down'])

  const guesser = await makeSignedInUser(service, await somewhere(service))
  await missTimes(guesser.web, 5)
  expect((await guesser.web.enterCode(waiting.user_code)).status, 'code entry').toBe(429)

  if (USERS_FROM === 'own') await expectLimitedSignIn()

  expect(await service.grant(waiting.user_code)).toBe('granted')
  expect((await device.poll(waiting.device_code)).status, 'and what was granted is handed over').toBe(200)

  redis.start()
  while (!service.context.gate.answers) {
    await device.poll(waiting.device_code)
    await sleep(50)
  }
  expect(await askedInARow(someNetwork(), 15), 'when it is back').toEqual({ 200: PER_NETWORK, 429: 5 })
})
