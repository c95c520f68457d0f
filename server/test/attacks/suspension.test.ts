/** RL-01 to RL-04, RL-07: who can have an application suspended, over the wire, by the rule as it comes. Nobody who only has its secret. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { listReviews, readReviewedApplication } from '../../src/flows/reviews.ts'
import { advance, connectDevice, judgeNow, makeStrangers, nextWindow, type Stranger } from '../rig/fleet.ts'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { mailsOf } from '../rig/witness.ts'

const HOUR = 3_600_000

/** Thousands of requests over a socket. */
vi.setConfig({ testTimeout: 120_000 })

let service: TestService
let strangers: Stranger[]
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.0/8' }, { clock: true })
  strangers = await makeStrangers(service, 90)
})
afterAll(() => service.stop())

/** An application of its own for each, whose owner was warned more than a day ago: nothing else stands before a suspension. */
beforeEach(async () => {
  application = await makeApplication(service.context.db, service.config, service.account.slug)
  await advance(service, HOUR)
  await service.database.query(
    `insert into reviews (id, application_id, opened_at, why, verdict, harm, evidence, judged_at, rule_version, dry_run, stirred_at,
       warned_at)
     values ($1, $2, now(), 'polling', 'observe', 0, $3, now(), 0, false, now(), now() - interval '25 hours')`,
    [
      application.id.replace('app_', 'rev_'),
      application.id,
      JSON.stringify({ windows: [], touched: 0, factor: null, reports: 0, funnel: {}, warnedAt: null, now: 0 }),
    ],
  )
})

const read = async () => {
  const found = await readReviewedApplication(service.context, application.id)
  if (!found) throw new Error('there is no such application')
  return found
}
const address = (index: number, block = 198) => `${block}.51.${index % 250}.${1 + (index % 200)}`
const slowDowns = (answers: readonly { body: { error?: string } }[]) =>
  answers.filter(({ body }) => body.error === 'slow_down').length

/** In each of three windows in a row; then judged. */
async function threeWindows(work: (window: number) => Promise<void>): Promise<void> {
  for (let window = 0; window < 3; window += 1) {
    await nextWindow(service)
    await work(window)
  }
  await nextWindow(service)
  await judgeNow(service)
}

/** Many devices at once, each from an address of its own. Returns how many of their polls were told slow_down. */
async function connectAll(
  by: readonly (Stranger | null)[],
  polls: number | ((index: number) => number),
  block?: number,
): Promise<number> {
  const waiting = [...by.entries()]
  let refused = 0
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, stranger] = next
      const often = typeof polls === 'number' ? polls : polls(index)
      const given = { address: address(index, block), polls: often }
      const answers = await connectDevice(service, application, stranger, given)
      refused += slowDowns(answers)
    }
  }
  await Promise.all(Array.from({ length: 12 }, work))
  return refused
}

/** Devices that poll as they should. */
const honestly = (by: readonly Stranger[]) => connectAll(by, 1, 203)

describe('RL-01: one rogue device among many', () => {
  it('polls as fast as it can for half an hour, and nothing happens to its application or to others', async () => {
    const [rogue, ...others] = strangers.slice(0, 30)
    let refused = 0
    await threeWindows(async () => {
      const hammered = await connectDevice(service, application, rogue as Stranger, { address: address(0), polls: 300 })
      expect(slowDowns(hammered)).toBe(299)
      refused += await honestly(others)
    })
    expect(refused).toBe(0)
    expect(await read()).toMatchObject({ suspended: false, review: { verdict: 'observe' } })
  })
})

describe('RL-02: a thief with the secret', () => {
  it('hammers hundreds of codes from many networks, and the application goes on as if he were not there', async () => {
    let refused = 0
    await threeWindows(async () => {
      expect(await connectAll(Array(60).fill(null), 25)).toBe(60 * 24)
      refused += await honestly(strangers.slice(0, 5))
    })
    const [row] = await service.database.query<{ codes: number }>(
      'select count(*)::int as codes from early_polls where application_id = $1 and polls >= 20',
      [application.id],
    )
    expect(row?.codes, 'his codes are known to have ignored slow_down').toBe(180)
    expect(refused).toBe(0)
    const { suspended, review } = await read()
    expect([suspended, review?.verdict, review?.people]).toEqual([false, 'fine', 0])
    expect((await service.device('oauth', application).request()).status).toBe(200)
  })
})

describe('RL-03: a thief who grants with accounts of his own', () => {
  it('has a person called, and nothing suspended', async () => {
    const sybils = await makeStrangers(service, 30, 3)
    await threeWindows(async () => {
      await connectAll(sybils, 22)
      await honestly(strangers.slice(0, 5))
    })
    const { suspended, review } = await read()
    expect([suspended, review?.verdict]).toEqual([false, 'review'])
    expect(review?.evidence.windows.map(({ ignoringAccounts }) => ignoringAccounts)).toEqual([0, 0, 0])
    expect(await listReviews(service.context, 'open')).toContainEqual(
      expect.objectContaining({ applicationId: application.id, people: 30 }),
    )
    const mails = await mailsOf(service, service.user)
    expect(mails.filter((kind) => kind === 'application_review')).toEqual([])
  })
})

describe('RL-04: a firmware that is really broken', () => {
  /** Every third device. */
  const connectBroken = async () => {
    await connectAll(strangers, (index) => (index % 3 === 0 ? 22 : 1))
  }

  it('is flagged within half an hour and its owner told; suspended only after the warning, and what is connected goes on', async () => {
    await service.database.query('update reviews set warned_at = null where application_id = $1', [application.id])
    await nextWindow(service)
    await connectBroken()
    await nextWindow(service)
    await judgeNow(service)
    expect(await read()).toMatchObject({ suspended: false, review: { verdict: 'warn', people: 30 } })
    const told = await mailsOf(service, service.user)
    expect(told.filter((kind) => kind === 'application_review')).toHaveLength(1)

    await advance(service, 24 * HOUR)
    const waiting = await service.device('oauth', application).code()
    await threeWindows(connectBroken)
    expect(await read()).toMatchObject({ suspended: true, review: { verdict: 'suspend', closedAt: null } })
    expect((await service.device('oauth', application).request()).body.error).toBe('application_suspended')
    expect((await service.device('oauth', application).poll(waiting.device_code)).body.error).toBe('auth_expired')
  })
})

describe('RL-07: an overload of our own making', () => {
  it('has honest devices come too early, and is held against none of them', async () => {
    const many = strangers.slice(0, 30)
    await threeWindows(async (window) => {
      await connectAll(many, 22)
      if (window === 1) await service.database.query("insert into overloads values (date_trunc('minute', now()), 500)")
    })
    const { suspended, review } = await read()
    expect([suspended, review?.verdict]).toEqual([false, 'warn'])
    await service.database.query(
      "insert into overloads select distinct minute - interval '10 minutes', 1 from overloads",
    )
    await service.database.query('update reviews set verdict = $2 where application_id = $1', [
      application.id,
      'observe',
    ])
    await judgeNow(service)
    expect((await read()).review?.verdict).toBe('observe')
    await service.database.query('truncate overloads')
    await judgeNow(service)
    expect(await read(), 'the same devices, had it been their fault').toMatchObject({ suspended: true })
  })
})
