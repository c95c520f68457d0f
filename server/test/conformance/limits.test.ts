/**
 * docs/interface/limits.md, "Limits":
 * the rows that the interface itself gives, over HTTP, on PostgreSQL, with each gate.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decideReview } from '../../src/flows/reviews/decide.ts'
import { readReviewedApplication } from '../../src/flows/reviews/list.ts'
import { verifyCredential } from '../../src/secrets/credentials.ts'
import { pollWithin } from '../rig/device.ts'
import { gates } from '../rig/engines/gates.ts'
import { makeApplication } from '../rig/make.ts'
import { addressOf, advance, connectDevice, judgeNow, makeStrangers, nextWindow } from '../rig/scenes/fleet.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { againAfterStandstill } from '../rig/standstill.ts'

const timely = againAfterStandstill()

const LIFETIME = 300
const HOUR = 3_600_000

/** The lowest thresholds: attacks/reviews/suspension.test.ts has the usual ones, with as many devices. */
const FEW = { accounts: 5, networks: 2, windows: 2, earlyPolls: 5, warningHours: 1 }

describe.each(gates)('with $name', timely, ({ environment }) => {
  let service: TestService
  beforeAll(async () => {
    const settings = {
      POLL_INTERVAL: '2',
      DEVICE_CODE_LIFETIME: String(LIFETIME),
      ACCESS_TOKEN_LIFETIME: '1200',
      TRUST_PROXY: '127.0.0.0/8',
      SUSPENSION_ACCOUNTS: String(FEW.accounts),
      SUSPENSION_NETWORKS: String(FEW.networks),
      SUSPENSION_WINDOWS: String(FEW.windows),
      SUSPENSION_EARLY_POLLS: String(FEW.earlyPolls),
      SUSPENSION_WARNING_HOURS: String(FEW.warningHours),
    }
    service = await startTestService({ ...environment(), ...settings }, { clock: true, operators: true })
  })
  afterAll(() => service.stop())

  it('polling interval: a poll faster than interval seconds yields slow_down, one at the interval never does', async () => {
    const device = service.device()
    const pace = { pauseMs: 1_400, withinMs: 1_800 }
    const { code, first, second } = await pollWithin(device, pace)
    expect(code.interval).toBe(2)
    expect([first.body.error, second.body.error]).toEqual(['auth_pending', 'slow_down'])
    const another = await device.code()
    for (const pauseMs of [0, 2_000, 2_000]) {
      await sleep(pauseMs)
      expect((await device.poll(another.device_code)).body.error).toBe('auth_pending')
    }
  })

  it('polling interval: 10 % less than the interval is tolerated, and no more than that', async () => {
    const tolerated = 0.9 * 2_000
    const [below, above] = await Promise.all([
      pollTwice(service, tolerated - 50, ({ maxMs }) => maxMs < tolerated),
      pollTwice(service, tolerated + 20, ({ shortestMs }) => shortestMs >= tolerated),
    ])
    expect(below).toEqual(['auth_pending', 'slow_down'])
    expect(above).toEqual(['auth_pending', 'auth_pending'])
  })

  it('code lifetime: expires_in seconds from the code request; after it the code is expired', async () => {
    const device = service.device('key')
    const [early, late] = [await device.code(), await device.code()]
    expect(early.expires_in).toBe(LIFETIME)
    await service.database.advance((LIFETIME - 10) * 1000)
    expect((await device.poll(early.device_code)).body.error).toBe('auth_pending')
    await service.database.advance(10_000)
    expect((await device.poll(late.device_code)).body.error).toBe('auth_expired')
    expect(await service.grant(early.user_code)).toBe('not_recognised')
  })

  it('token lifetime: expires_in seconds from the accepted response', async () => {
    const device = service.device()
    const code = await device.code()
    expect(await service.grant(code.user_code)).toBe('granted')
    // The user was quick, the device is not: what counts is the response.
    await service.database.advance(3_600_000)
    const [row] = await service.database.query<{ now: Date }>('select now() as now')
    const { body } = await device.poll(code.device_code)
    const token = verifyCredential(service.config.keys, body.access_token)
    expect(body.expires_in).toBe(1200)
    expect(token?.is).toBe('access_token')
    const lifetimeMs = (token?.is === 'access_token' ? token.expiresAt : 0) - Number(row?.now)
    expect(Math.abs(lifetimeMs - 1_200_000)).toBeLessThan(2_000)
  })

  it('suspension: an application that ignores slow_down may be suspended pending review, and restored after it', async () => {
    const { context } = service
    const application = await makeApplication(context.db, service.config, service.account.slug)
    await context.applications.refresh()
    const device = service.device('oauth', application)
    const strangers = await makeStrangers(service, FEW.accounts)
    const ignoreSlowDown = async () => {
      for (const [index, stranger] of strangers.entries()) {
        const given = { address: addressOf(index), polls: FEW.earlyPolls + 1 }
        const answers = await connectDevice(service, application, stranger, given)
        const told = answers.map(({ body }) => body.error)
        expect(told).toEqual(['auth_pending', ...Array(FEW.earlyPolls).fill('slow_down')])
      }
      await nextWindow(service)
    }
    const suspended = async () => (await readReviewedApplication(context, application.id))?.suspended

    await nextWindow(service)
    await ignoreSlowDown()
    await judgeNow(service)
    expect(await suspended(), 'its owner is warned first').toBe(false)
    await advance(service, FEW.warningHours * HOUR)
    await nextWindow(service)
    for (let window = 0; window < FEW.windows; window += 1) await ignoreSlowDown()
    const [granted, waiting, live] = [await device.code(), await device.code(), await device.code()]
    for (const code of [granted, live]) expect(await service.grant(code.user_code)).toBe('granted')
    const { access_token } = (await device.poll(live.device_code)).body
    await judgeNow(service)
    expect(await suspended()).toBe(true)

    const refused = await device.request()
    expect([refused.status, refused.body.error]).toEqual([403, 'application_suspended'])
    expect(await service.grant(waiting.user_code), 'a code that was not granted before').toBe('suspended')
    expect((await device.poll(waiting.device_code)).body.error).toBe('auth_pending')
    expect((await device.poll(granted.device_code)).status, 'a code that was granted before').toBe(200)
    const me = await fetch(`${service.address}/1/me`, { headers: { authorization: `Bearer ${access_token}` } })
    expect(me.status, 'a credential that was issued before').toBe(200)

    await advance(service, 90 * 24 * HOUR)
    await judgeNow(service)
    expect(await suspended(), 'it waits for its review, however long').toBe(true)
    const reviewed = await readReviewedApplication(context, application.id)
    const decision = { decision: 'reinstate', reason: 'fixed', words: 'Thank you.', intervalSeconds: null } as const
    const seen = { seen: reviewed?.seen ?? '' }
    expect(
      await decideReview(context, service.user.id, { applicationId: application.id, ...seen, ...decision }),
    ).toEqual({ outcome: 'decided' })
    await context.applications.refresh()
    expect((await device.request()).status).toBe(200)
    const events = await service.database.query(
      "select kind from audit_events where application_id = $1 and kind in ('application.suspended', 'application.restored') order by id",
      [application.id],
    )
    expect(events.map((event) => event.kind)).toEqual(['application.suspended', 'application.restored'])
  })
})

type Gap = { readonly shortestMs: number; readonly maxMs: number }

/**
 * Two polls of one code, so far apart. When the server saw them lies between sending and hearing: where a busy machine made the
 * gap another one than was wanted, the next code is polled instead.
 */
async function pollTwice(service: TestService, waitMs: number, fits: (gap: Gap) => boolean): Promise<string[]> {
  const device = service.device()
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const { device_code } = await device.code()
    const poll = async () => {
      const sentAt = performance.now()
      const { body } = await device.poll(device_code)
      return { sentAt, heardAt: performance.now(), error: String(body.error) }
    }
    const first = await poll()
    await sleep(waitMs)
    const second = await poll()
    const gap = { shortestMs: second.sentAt - first.heardAt, maxMs: second.heardAt - first.sentAt }
    if (fits(gap)) return [first.error, second.error]
  }
  throw new Error('this machine is too busy to poll at a given moment')
}
