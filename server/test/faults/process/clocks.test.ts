/**
 * docs/decisions/0007-time-is-postgresqls.md: a server whose clock is wrong, or is set while it runs, differs in nothing but the
 * timestamps of its log. Its wall clock is libfaketime's; as on a real machine, setting it does not move the monotonic clock.
 */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { askVerify } from '../../races/issued-grants.ts'
import { postNative } from '../../rig/credentials.ts'
import { Device, post } from '../../rig/device.ts'
import { useAuthenticator } from '../../rig/factors/second-factor.ts'
import { makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { Web } from '../../rig/web.ts'

/** Debian's package libfaketime; `$LIB` is the folder of the architecture, and the dynamic linker knows it. */
const LIBRARY = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu']
  .map((folder) => `${folder}/faketime/libfaketime.so.1`)
  .find(existsSync)

const PASSWORD = 'correct horse battery staple'
const LIFETIME_SECONDS = 4

let service: TestService
let folder: string
const servers = new Map<string, ServerProcess>()

/** A process whose clock differs by this much; `set` sets it while the process runs. */
async function startWithClock(offset: string, environment: Record<string, string> = {}) {
  const file = join(folder, `clock${servers.size}`)
  const set = (to: string) => writeFileSync(file, `${to}\n`)
  set(offset)
  const server = await startServerProcess({
    DATABASE_URL: service.database.url,
    PUBLIC_URL: service.config.publicUrl,
    LD_PRELOAD: LIBRARY ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    ...environment,
  })
  servers.set(file, server)
  return { address: server.address, log: server.log, set }
}

/** By how much the clock of a process differs, in seconds: every answer has a date. */
async function readOffset(address: string): Promise<number> {
  const { headers } = await post(address, '/health/live', { method: 'GET' })
  return Math.round((Date.parse(String(headers.date)) - Date.now()) / 1000)
}

/** The decision was made in another process, without a Redis: this one may know it up to a second later. */
async function collect(device: Device, deviceCode: string) {
  for (let poll = 0; poll < 50; poll += 1) {
    const { status, body } = await device.poll(deviceCode)
    if (status === 200) return body
    await sleep(100)
  }
  throw new Error('the code was granted and never accepted')
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-clocks-'))
  service = await startTestService()
})
afterAll(async () => {
  await Promise.all(Array.from(servers.values(), (server) => server.kill('SIGKILL')))
  await service.stop()
  removeFolder(folder)
})

if (!LIBRARY) console.log('clocks.test.ts is skipped: Debian’s package libfaketime is missing')

describe.skipIf(!LIBRARY)('a process whose clock is wrong', () => {
  it.each(['+3600', '-3600'])(
    'F27: by %s s: codes, tokens and sessions live as long there as in every other process',
    async (offset) => {
      const wrong = await startWithClock(offset)
      expect(Math.abs((await readOffset(wrong.address)) - Number(offset))).toBeLessThan(60)
      const [there, here] = [new Device(wrong.address, service.application), service.device()]

      for (const [first, second] of [
        [there, here],
        [here, there],
      ] as const) {
        const code = await first.code()
        expect(code.expires_in).toBe(600)
        expect((await second.poll(code.device_code)).body.error).toBe('auth_pending')
        expect(await service.grant(code.user_code)).toBe('granted')
        const answer = await collect(second, code.device_code)
        expect(answer.expires_in).toBe(3600)
        const { access_token, refresh_token } = answer
        for (const { address } of [first, second]) expect(await askVerify(address, access_token)).toBe(200)
        const refreshed = await postNative(first, service.application, '/auth/oauth/refresh', { refresh_token })
        expect([refreshed.status, refreshed.body.expires_in]).toEqual([200, 3600])
        for (const { address } of [first, second])
          expect(await askVerify(address, refreshed.body.access_token)).toBe(200)
      }
    },
  )

  it.each(['+3600', '-3600'])(
    'F27: by %s s: a user signs in there with a code of their authenticator, and the session holds everywhere',
    async (offset) => {
      const wrong = await startWithClock(offset)
      const user = await makeUser(service.context.db, service.account.slug, { password: PASSWORD })
      await useAuthenticator(service, user)
      const { host } = service.web()
      const [there, here] = [new Web(wrong.address, host), new Web(service.address, host)]
      await there.signIn(user.email, PASSWORD)
      for (const [name, value] of there.cookies) here.cookies.set(name, value)
      for (const web of [there, here]) {
        const page = await web.send('GET', '/applications')
        expect([page.status, page.location]).toEqual([200, null])
      }
    },
  )

  it.each(['+3600', '-3600'])(
    'F27: by %s s: a code expires when its lifetime is over, not before and not after',
    async (offset) => {
      const wrong = await startWithClock(offset, { DEVICE_CODE_LIFETIME: String(LIFETIME_SECONDS), POLL_INTERVAL: '1' })
      const device = new Device(wrong.address, service.application)
      const asked = performance.now()
      const code = await device.code()
      const first = await device.poll(code.device_code)
      // On a machine that is busy with something else the code may be gone by now.
      if (performance.now() - asked < LIFETIME_SECONDS * 1000) expect(first.body.error).toBe('auth_pending')
      await sleep(LIFETIME_SECONDS * 1000 + 100)
      expect((await device.poll(code.device_code)).body.error).toBe('auth_expired')
    },
  )
})

describe.skipIf(!LIBRARY)('a process whose clock is set while it runs', () => {
  it.each(['+120', '-120'])(
    'F28: by %s s: nothing expires, nobody has to slow down, and held polls and limits go on',
    async (step) => {
      const settings = { POLL_INTERVAL: '1', CODE_REQUESTS_PER_NETWORK: '3' }
      const stepped = await startWithClock('+0', settings)
      const device = new Device(stepped.address, service.application)
      const code = await device.code()
      const held = await device.code()
      const answered = device.poll(held.device_code, { prefer: 'wait=30' })
      answered.catch(() => {})
      const early = await device.code()
      expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
      expect((await device.request()).body.error).toBe('too_many_requests')

      stepped.set(step)
      const wrongBy = async () => Math.abs((await readOffset(stepped.address)) - Number(step))
      await expect.poll(wrongBy, { timeout: 30_000 }).toBeLessThan(30)
      // The limit of a minute is neither lifted nor prolonged.
      const limited = await device.request()
      expect(limited.body.error).toBe('too_many_requests')
      expect(Number(limited.headers['retry-after'])).toBeLessThanOrEqual(60)
      await sleep(1_000)
      expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
      expect((await device.poll(early.device_code)).body.error).toBe('auth_pending')
      expect((await device.poll(early.device_code)).body.error).toBe('slow_down')
      for (const { user_code } of [code, held]) expect(await service.grant(user_code)).toBe('granted')
      expect((await collect(device, code.device_code)).expires_in).toBe(3600)
      expect((await answered).body.expires_in).toBe(3600)
      expect(stepped.log()).not.toMatch(/"event":"(unexpected|task_failed|engine_away)"/)
    },
  )
})
