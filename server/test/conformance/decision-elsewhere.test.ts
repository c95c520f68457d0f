/**
 * docs/interface/device-flow.md, "Pacing":
 * a decision that another process made is known to every server within a second, without Redis.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { type CodeRecord, Device, post, type WireAnswer } from '../rig/device.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { type MadeApplication, makeAccount, makeApplication, makeEnvironment, makeUser } from '../rig/make.ts'
import { runCommand } from '../rig/process/command.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { againAfterStandstill } from '../rig/standstill.ts'
import { switchTestModeOn } from '../rig/test-mode.ts'
import { digestOf } from '../rig/witness.ts'

const timely = againAfterStandstill()

const WITHIN_MS = 1_000
/** The device polls this often, so it hears of a decision so much later than its server. */
const POLL_EVERY_MS = 50
/** Of the tick and the poll on a machine that has other things to do. */
const MARGIN_MS = 300

let service: TestService
let tested: MadeApplication
let stranger: { readonly slug: string; readonly email: string }
let testSecret: string
let polled: ServerProcess
let other: ServerProcess
let onRedis: ServerProcess
const environment = () => ({ DATABASE_URL: service.database.url, POLL_INTERVAL: '1' })

beforeAll(async () => {
  service = await startTestService()
  const { context, config, account } = service
  tested = await makeApplication(context.db, config, account.slug)
  const { slug } = await makeAccount(context.db)
  stranger = { slug, ...(await makeUser(context.db, slug)) }
  testSecret = await switchTestModeOn(service, tested)
  polled = await startServerProcess(environment())
  other = await startServerProcess(environment())
  onRedis = await startServerProcess({ ...environment(), REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(async () => {
  await Promise.all([polled, other, onRedis].map((server) => server?.kill('SIGKILL')))
  await service.stop()
})

const commandLine = (verb: 'grant' | 'reject') => async (code: CodeRecord) => {
  const who = ['--account', service.account.slug, '--user', service.user.email]
  const { status, stderr } = await runCommand(['code', verb, code.user_code, ...who], {
    environment: makeEnvironment(environment()),
  })
  expect([status, stderr]).toEqual([0, ''])
}

/** A user of another account, which closes the code. */
const strangerOnTheCommandLine = async (code: CodeRecord) => {
  await enterUserCode(service.context, service.user.id, code.user_code)
  const who = ['--account', stranger.slug, '--user', stranger.email]
  const { status, stderr } = await runCommand(['code', 'grant', code.user_code, ...who], {
    environment: makeEnvironment(environment()),
  })
  expect([status, stderr]).toEqual([1, expect.stringContaining('This code was closed')])
}

const testMode = (decision: 'grant' | 'reject') => async (code: CodeRecord) => {
  const credentials = { SVCappid: tested.id, SVCsecret: tested.secret, test_secret: testSecret }
  const form = { ...credentials, user_code: code.user_code, decision }
  expect((await post(other.address, '/auth/test/decision', { form })).status).toBe(200)
}

type Heard = { readonly answer: WireAnswer; readonly afterMs: number; readonly beforeExpiry: boolean }

/** Polls until the device knows; then PostgreSQL, on the same machine, says when it was decided or closed. */
async function hear(device: Device, code: CodeRecord, decide: (code: CodeRecord) => Promise<void>): Promise<Heard> {
  expect((await device.poll(code.device_code)).body.error, 'and from here on there is a hint').toBe('auth_pending')
  const deciding = decide(code)
  for (;;) {
    const answer = await device.poll(code.device_code)
    const at = Date.now()
    if (answer.status === 200 || !['auth_pending', 'slow_down'].includes(answer.body.error)) {
      await deciding
      const [row] = await service.database.query<{ decided_at: Date; expires_at: Date }>(
        `select coalesce(decided_at, (select at from audit_events where device_code_id = d.id and kind = 'code.closed'))
           as decided_at, expires_at from device_codes d where user_code_digest = $1`,
        [digestOf(service, code.user_code)],
      )
      if (!row?.decided_at) throw new Error(`the poll was answered ${answer.text}, and nothing was decided`)
      return { answer, afterMs: at - Number(row.decided_at), beforeExpiry: at < Number(row.expires_at) }
    }
    await sleep(POLL_EVERY_MS)
  }
}

describe('without Redis, a decision reaches the process that is polled within a second', timely, () => {
  it.each([
    { by: 'a grant on the command line', application: () => service.application, decide: commandLine('grant') },
    { by: 'a rejection on the command line', application: () => service.application, decide: commandLine('reject') },
    { by: 'a grant in test mode at another process', application: () => tested, decide: testMode('grant') },
    { by: 'a rejection in test mode at another process', application: () => tested, decide: testMode('reject') },
  ])('$by', async ({ by, application, decide }) => {
    const device = new Device(polled.address, application())
    const { answer, afterMs } = await hear(device, await device.code(), decide)
    expect(answer.body).toMatchObject(
      by.includes('grant') ? { access_token: expect.any(String) } : { error: 'auth_rejected' },
    )
    expect(afterMs).toBeLessThan(WITHIN_MS + MARGIN_MS)
  })

  it('an entry on the command line that closes the code', async () => {
    const device = new Device(polled.address, service.application)
    const { answer, afterMs, beforeExpiry } = await hear(device, await device.code(), strangerOnTheCommandLine)
    expect([answer.body.error, beforeExpiry]).toEqual(['auth_expired', true])
    expect(afterMs).toBeLessThan(WITHIN_MS + MARGIN_MS)
  })

  it('a code so short-lived that its hint would outlive it is collected before it expires', async () => {
    const device = new Device(polled.address, tested)
    const { answer, afterMs, beforeExpiry } = await hear(
      device,
      await device.code({ expires_in: '5' }),
      testMode('grant'),
    )
    expect(answer.status).toBe(200)
    expect(beforeExpiry).toBe(true)
    expect(afterMs).toBeLessThan(WITHIN_MS + MARGIN_MS)
  })
})

it('with Redis, a decision of a process that did not tell Redis is heard of within a second, too', timely, async () => {
  const device = new Device(onRedis.address, tested)
  const { answer, afterMs } = await hear(device, await device.code(), testMode('grant'))
  expect(answer.status).toBe(200)
  expect(afterMs).toBeLessThan(WITHIN_MS + MARGIN_MS)
})
