/** docs/interface/device-flow.md, "Wait for the decision": polls with `Prefer: wait`. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEASE_MS } from '../../src/core/device/code.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { pollDeviceCode } from '../../src/flows/device/poll.ts'
import { type CodeRecord, Device, post, type WireAnswer, withoutExpiresIn } from '../rig/device.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { makeAccount, makeUser } from '../rig/make.ts'
import { startMessageProxy } from '../rig/network/message-proxy.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { againAfterStandstill } from '../rig/standstill.ts'

const timely = againAfterStandstill()

const INTERVAL_MS = 1_000
/** Far less than any interval: the answer was held, and came by itself. */
const AT_ONCE_MS = 700

let service: TestService
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
})
afterAll(() => service.stop())

const WAIT = { prefer: 'wait=20' }
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

type Timed = { readonly answer: WireAnswer; readonly tookMs: number; readonly endedAt: number }

async function timed(sent: Promise<WireAnswer>): Promise<Timed> {
  const from = performance.now()
  const answer = await sent
  return { answer, tookMs: performance.now() - from, endedAt: performance.now() }
}

/** Until the server holds so many. */
async function untilHeld(count = 1): Promise<void> {
  await expect.poll(() => service.context.heldPolls.count, { timeout: 30_000 }).toBe(count)
  // Registered before the row is read: held a moment later.
  await sleep(100)
}

async function decideWhileHeld(poll: Promise<WireAnswer>, decide: () => Promise<string>) {
  const waiting = timed(poll)
  await untilHeld()
  expect(await decide()).toMatch(/granted|rejected|closed/)
  const decidedAt = performance.now()
  const { answer, endedAt } = await waiting
  return { answer, afterMs: endedAt - decidedAt }
}

const standardPoll = (device: Device, code: CodeRecord) =>
  post(device.address, '/oauth/token', {
    form: {
      grant_type: DEVICE_CODE,
      client_id: device.application.id,
      client_secret: device.application.secret,
      device_code: code.device_code,
    },
    headers: WAIT,
  })

describe('a poll that waits is answered when the user decides', timely, () => {
  it.each(['oauth', 'key'] as const)('granted, variant %s', async (variant) => {
    const device = service.device(variant)
    const code = await device.code()
    const { answer, afterMs } = await decideWhileHeld(device.poll(code.device_code, WAIT), () =>
      service.grant(code.user_code),
    )
    expect([answer.status, answer.headers['preference-applied']]).toEqual([200, 'wait=20'])
    expect(afterMs).toBeLessThan(AT_ONCE_MS)
    expect((await device.poll(code.device_code)).body.error, 'it was delivered once').toBe('invalid')
  })

  it('rejected', async () => {
    const device = service.device()
    const code = await device.code()
    const { answer, afterMs } = await decideWhileHeld(device.poll(code.device_code, WAIT), () =>
      service.reject(code.user_code),
    )
    expect(answer.body.error).toBe('auth_rejected')
    expect(afterMs).toBeLessThan(AT_ONCE_MS)
  })

  it('closed, because a user of another account entered the code', async () => {
    const device = service.device()
    const code = await device.code()
    await enterUserCode(service.context, service.user.id, code.user_code)
    const { slug } = await makeAccount(service.context.db)
    const stranger = await makeUser(service.context.db, slug)
    const { answer, afterMs } = await decideWhileHeld(device.poll(code.device_code, WAIT), async () => {
      const { outcome } = await enterUserCode(service.context, stranger.id, code.user_code)
      return outcome
    })
    expect(answer.body.error).toBe('auth_expired')
    expect(afterMs).toBeLessThan(AT_ONCE_MS)
    expect((await device.poll(code.device_code)).body.error, 'it was delivered once').toBe('invalid')
  })

  it('in the standard dialect', async () => {
    const device = service.device()
    const code = await device.code()
    const { answer } = await decideWhileHeld(standardPoll(device, code), () => service.grant(code.user_code))
    expect(answer.body).toMatchObject({ token_type: 'Bearer' })
    expect(answer.headers['preference-applied']).toBe('wait=20')
  })
})

describe('a poll that waits in vain', timely, () => {
  it('ends with auth_pending after its time; the next may come at once', async () => {
    const device = service.device()
    const code = await device.code()
    const { answer, tookMs } = await timed(device.poll(code.device_code, { prefer: 'wait=2' }))
    expect(answer.body.error).toBe('auth_pending')
    expect([answer.headers['preference-applied'], answer.headers['retry-after']]).toEqual(['wait=2', '0'])
    expect(tookMs).toBeGreaterThan(1_990)
    expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
  })

  it('ends in time although PostgreSQL took long to answer: its time counts from its arrival', async () => {
    const device = service.device()
    const code = await device.code()
    const locking = new pg.Client({ connectionString: service.database.url })
    await locking.connect()
    await locking.query('begin; lock table device_codes in access exclusive mode')
    const waiting = timed(device.poll(code.device_code, { prefer: 'wait=2' }))
    await sleep(1_500)
    await locking.end()
    const { answer, tookMs } = await waiting
    expect([answer.body.error, answer.headers['preference-applied']]).toEqual(['auth_pending', 'wait=2'])
    expect(tookMs).toBeGreaterThan(1_990)
    expect(tookMs).toBeLessThan(3_000)
  })

  it('ends with auth_expired when its code expires meanwhile', async () => {
    const short = await startTestService({ POLL_INTERVAL: '1', DEVICE_CODE_LIFETIME: '60' }, { clock: true })
    try {
      const device = short.device()
      const code = await device.code()
      await short.database.advance(57_000)
      await short.context.applications.refresh()
      const { answer, tookMs } = await timed(device.poll(code.device_code, WAIT))
      expect(answer.body.error).toBe('auth_expired')
      expect(tookMs).toBeLessThan(10_000)
    } finally {
      await short.stop()
    }
  })

  it('is released without a trace when its client disconnects: the next poll gets the outcome', async () => {
    const device = service.device()
    const code = await device.code()
    const form = new URLSearchParams({ ...device.credentials, device_code: code.device_code }).toString()
    const lost = request(`${service.address}/auth/oauth/device/polling`, {
      method: 'POST',
      headers: { ...WAIT, 'content-type': 'application/x-www-form-urlencoded', 'content-length': form.length },
    })
    lost.on('error', () => {})
    lost.end(form)
    await untilHeld()
    lost.destroy()
    await expect.poll(() => service.context.heldPolls.count).toBe(0)
    await service.grant(code.user_code)
    await sleep(INTERVAL_MS)
    expect((await device.poll(code.device_code)).status).toBe(200)
  })
})

describe('a poll that waits for an outcome whose process died while it delivered it', timely, () => {
  it('gets it at the latest one interval after the end of the lease', async () => {
    const clocked = await startTestService({ POLL_INTERVAL: '1' }, { clock: true })
    try {
      const device = clocked.device()
      const code = await device.code()
      await clocked.grant(code.user_code)
      const leased = await pollDeviceCode(clocked.context, {
        applicationId: device.application.id,
        secret: device.application.secret,
        deviceCode: code.device_code,
        variant: 'token_set',
        idempotencyKey: null,
        wait: null,
      })
      expect(leased.outcome).toBe('accepted')
      await sleep(INTERVAL_MS)
      const waiting = timed(device.poll(code.device_code, WAIT))
      // Longer than a poll waits for another one to deliver.
      await sleep(5_000)
      await clocked.database.advance(LEASE_MS)
      const { answer, tookMs } = await waiting
      expect(answer.status).toBe(200)
      expect(tookMs).toBeLessThan(5_000 + 2 * INTERVAL_MS)
    } finally {
      await clocked.stop()
    }
  })
})

describe('the pace', timely, () => {
  it('a poll inside the interval gets slow_down and leaves the first held; a later one releases it', async () => {
    const device = service.device()
    const code = await device.code()
    const first = timed(device.poll(code.device_code, WAIT))
    await untilHeld()
    const early = await timed(device.poll(code.device_code, WAIT))
    expect([early.answer.body.error, early.answer.headers['preference-applied']]).toEqual(['slow_down', undefined])
    expect(service.context.heldPolls.count).toBe(1)
    await sleep(INTERVAL_MS)
    const later = device.poll(code.device_code, WAIT)
    expect((await first).answer.body.error).toBe('auth_pending')
    await service.grant(code.user_code)
    expect((await later).status).toBe(200)
  })

  it('without the header nothing is held', async () => {
    const device = service.device()
    const code = await device.code()
    const { answer, tookMs } = await timed(device.poll(code.device_code))
    expect([answer.body.error, answer.headers['preference-applied']]).toEqual(['auth_pending', undefined])
    expect(answer.headers['retry-after']).toBe('1')
    expect(tookMs).toBeLessThan(INTERVAL_MS)
  })

  it('a final outcome that is there already is not held', async () => {
    const device = service.device()
    const code = await device.code()
    await service.grant(code.user_code)
    const { answer } = await timed(device.poll(code.device_code, WAIT))
    expect([answer.status, answer.headers['preference-applied']]).toEqual([200, undefined])
  })
})

it('as many polls as a connection may pipeline are held without a warning of Node', async ({ onTestFinished }) => {
  const warnings: string[] = []
  const onWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const device = service.device()
  const codes = await Promise.all(Array.from({ length: 9 }, () => device.code()))
  const { hostname, port } = new URL(service.address)
  const socket = connect(Number(port), hostname)
  for (const { device_code } of codes) {
    const form = `${new URLSearchParams({ ...device.credentials, device_code })}`
    socket.write(
      `POST /auth/oauth/device/polling HTTP/1.1\r\nhost: ${hostname}\r\nprefer: wait=20\r\n` +
        `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`,
    )
  }
  await untilHeld(codes.length)
  expect(warnings).toEqual([])
  socket.destroy()
  await untilHeld(0)
})

describe('between processes', timely, () => {
  const started: ServerProcess[] = []
  const start = async (on: TestService, environment: Record<string, string> = {}) => {
    const server = await startServerProcess({ DATABASE_URL: on.database.url, POLL_INTERVAL: '1', ...environment })
    started.push(server)
    return server
  }
  afterAll(() => Promise.all(started.map((server) => server.kill('SIGKILL'))))

  /** Milliseconds from the decision, made in the process of `by`, to the answer of another one; the median of ten. */
  async function decideElsewhere(by: TestService, server: ServerProcess): Promise<number> {
    const device = new Device(server.address, by.application)
    const took: number[] = []
    for (let round = 0; round < 10; round += 1) {
      const code = await device.code()
      const waiting = timed(device.poll(code.device_code, WAIT))
      await sleep(300)
      expect(await by.grant(code.user_code)).toBe('granted')
      const decidedAt = performance.now()
      const { answer, endedAt } = await waiting
      expect(answer.status).toBe(200)
      took.push(endedAt - decidedAt)
    }
    return took.sort((a, b) => a - b)[5] ?? Number.NaN
  }

  it('without Redis a decision arrives within a second', async () => {
    expect(await decideElsewhere(service, await start(service))).toBeLessThan(1_000)
  })

  it('with Redis a decision arrives within a second, also where the feed brings none', async () => {
    const redis = { REDIS_URL: engineUrl('REDIS_URL') }
    const shared = await startTestService({ POLL_INTERVAL: '1', ...redis })
    const database = new URL(shared.database.url)
    // A process reads the feed once before it listens.
    let hasListened = false
    const proxy = await startMessageProxy({
      engine: 'postgresql',
      port: Number(database.port),
      delayMs: 0,
      onMessage: ({ text }) => (hasListened && text.includes('pg_snapshot_xmin(seen)') ? 'reset before' : null),
    })
    database.port = String(proxy.port)
    try {
      const server = await start(shared, { ...redis, DATABASE_URL: database.href })
      hasListened = true
      expect(await decideElsewhere(shared, server)).toBeLessThan(1_000)
    } finally {
      await proxy.stop()
      await shared.stop()
    }
  })

  it('an earlier poll in another process stays held; with the same Idempotency-Key both get the outcome', async () => {
    const device = service.device()
    const elsewhere = new Device((await start(service)).address, service.application)
    const code = await device.code()
    const headers = { ...WAIT, 'idempotency-key': 'one-per-device-code' }
    const earlier = elsewhere.poll(code.device_code, headers)
    await sleep(INTERVAL_MS)
    const later = device.poll(code.device_code, headers)
    await untilHeld()
    expect(await service.grant(code.user_code)).toBe('granted')
    const answers = await Promise.all([earlier, later])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const [one, other] = answers.map(({ text }) => withoutExpiresIn(text))
    expect(one).toBe(other)
  })

  it('a process that stops answers every held poll within a second, without an error, and holds no more', async () => {
    const server = await start(service, { DRAIN_SECONDS: '3' })
    const device = new Device(server.address, service.application)
    const late = await device.code()
    const codes = await Promise.all(Array.from({ length: 20 }, () => device.code()))
    const waiting = codes.map((code) => timed(device.poll(code.device_code, WAIT)))
    await sleep(1_000)
    const stoppedAt = performance.now()
    const ending = server.kill('SIGTERM')
    const answers = await Promise.all(waiting)
    expect(answers.map(({ answer }) => answer.body.error)).toEqual(codes.map(() => 'auth_pending'))
    expect(Math.max(...answers.map(({ endedAt }) => endedAt)) - stoppedAt).toBeLessThan(1_000)
    const { answer, tookMs } = await timed(device.poll(late.device_code, WAIT))
    expect([answer.body.error, answer.headers['preference-applied']]).toEqual(['auth_pending', undefined])
    expect(tookMs).toBeLessThan(AT_ONCE_MS)
    await ending
  })
})
