/**
 * A process that stands still for longer than its lease (the machine sleeps, the host moves it) and goes on afterwards: by then
 * another process has delivered the outcome, and it must not deliver it, too. docs/decisions/0002-deliver-until-sent.md.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, it } from 'vitest'
import { LEASE_MS } from '../../../src/core/device/code.ts'
import { connect, grant } from '../../rig/connect.ts'
import { postNative } from '../../rig/credentials.ts'
import { Device } from '../../rig/device.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { type Moment, startPostgresWire } from '../../rig/network/postgres-wire.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { codeRow } from '../../rig/witness.ts'

useOwnTimeouts()

let service: TestService
const stops: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()))
  await service.stop()
})

/** A process that stands still from that moment on, when PostgreSQL has carried out the statement. */
async function startPausable(moment: Omit<Moment, 'when'>) {
  const wire = await startPostgresWire(service.database.url)
  const server = await startServerProcess({ DATABASE_URL: wire.url })
  stops.push(wire.stop, () => server.kill('SIGKILL'))
  const stopped = wire.stopAt({ ...moment, when: 'after' })
  return {
    address: server.address,
    log: server.log,
    pause: async () => {
      const { pass } = await stopped
      process.kill(server.pid, 'SIGSTOP')
      // PostgreSQL's answer waits for the process.
      pass()
    },
    resume: () => process.kill(server.pid, 'SIGCONT'),
  }
}

const PAUSE_MS = LEASE_MS + 1_000

it.concurrent('F30: a process that was paused while it held a lease does not send what another process has delivered meanwhile', async ({
  expect,
}) => {
  const { device, deviceCode, userCode } = await grant(service)
  const paused = await startPausable({ statement: /commit$/, within: /update device_codes/ })
  const late = new Device(paused.address, device.application).poll(deviceCode)
  await paused.pause()
  await sleep(PAUSE_MS)
  const delivered = await device.poll(deviceCode)
  expect(delivered.status).toBe(200)
  paused.resume()
  // Without an outcome, if its statement timed out before it read the answer.
  expect((await late).body.error).toMatch(/^(invalid|auth_pending)$/)
  expect((await device.poll(deviceCode)).body.error).toBe('invalid')
  expect((await codeRow(service, userCode))?.status).toBe('used')
})

it.concurrent('F30: what a paused process held is delivered once, by it or to the next poll', async ({ expect }) => {
  const { device, deviceCode } = await grant(service)
  const paused = await startPausable({ statement: /commit$/, within: /update device_codes/ })
  const late = new Device(paused.address, device.application).poll(deviceCode)
  await paused.pause()
  await sleep(PAUSE_MS)
  paused.resume()
  const answers = [await late]
  while (answers.at(-1)?.body.error !== 'invalid') answers.push(await device.poll(deviceCode))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
})

it.concurrent('F14: PostgreSQL ends the transaction of a paused process after ten seconds, and nobody waits for its locks any more', async ({
  expect,
}) => {
  const { device, deviceCode } = await grant(service)
  const paused = await startPausable({ statement: /update device_codes/ })
  const late = new Device(paused.address, device.application).poll(deviceCode)
  await paused.pause()
  // The row is locked: a poll waits for it for a second and a half, and does not know the outcome.
  expect((await device.poll(deviceCode)).body.error).toMatch(/^(auth_pending|slow_down)$/)
  const polled = async () => (await device.poll(deviceCode)).status
  await expect.poll(polled, { timeout: 25_000, interval: 500 }).toBe(200)
  paused.resume()
  // It lost its transaction, so it knows of no outcome; the next poll does.
  expect((await late).body.error).toMatch(/^(auth_pending|invalid)$/)
  expect((await device.poll(deviceCode)).body.error).toBe('invalid')
  expect(paused.log()).not.toContain('unexpected')
})

it.concurrent('F14: a request whose transaction PostgreSQL ended is answered 503, and succeeds when it is repeated', async ({
  expect,
}) => {
  const { refreshToken } = await connect(service)
  const paused = await startPausable({ statement: /update grants/ })
  const form = { refresh_token: refreshToken }
  const late = postNative(paused, service.application, '/auth/oauth/refresh', form)
  await paused.pause()
  await sleep(PAUSE_MS)
  paused.resume()
  expect((await late).body.error).toBe('unavailable')
  expect((await postNative(paused, service.application, '/auth/oauth/refresh', form)).status).toBe(200)
  expect(paused.log()).not.toContain('unexpected')
})
