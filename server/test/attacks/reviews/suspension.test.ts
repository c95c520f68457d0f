/** RL-01 to RL-04, RL-07: the suspension rule with its defaults. The secret alone cannot cause a suspension. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { pollDeviceCode } from '../../../src/flows/device/poll.ts'
import { requestDeviceCode } from '../../../src/flows/device/request-code.ts'
import { listReviews, readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { type MadeApplication, makeApplication } from '../../rig/make.ts'
import {
  advance,
  connectDevice,
  judgeNow,
  makeStrangers,
  misbehave,
  nextWindow,
  type Stranger,
} from '../../rig/scenes/fleet.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { mailsOf } from '../../rig/witness.ts'

const HOUR = 3_600_000

/** Nobody is turned away, and every early poll is counted: the rule alone protects the application. */
const WITHOUT_LIMITS = { CODE_REQUESTS_PER_NETWORK: '0', CODE_REQUESTS_PER_APPLICATION: '0', OVERLOAD_DELAY: '0' }

/** Thousands of requests over a socket, and hundreds of thousands of polls beside it. */
vi.setConfig({ testTimeout: 600_000 })

let service: TestService
let strangers: Stranger[]
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.0/8', ...WITHOUT_LIMITS }, { clock: true })
  strangers = await makeStrangers(service, 90)
})
afterAll(() => service.stop())

/** Each test has an application, and windows, of its own. */
beforeEach(async () => {
  application = await makeApplication(service.context.db, service.config, service.account.slug)
  await advance(service, HOUR)
})

/** The rule warns its owner, and a day passes: after that nothing but the evidence stands before a suspension. */
async function warnedByTheRule(): Promise<void> {
  await misbehave(service, application, strangers.slice(0, 30))
  const { review } = await read()
  if (review?.verdict !== 'warn' || review.warnedAt === null) throw new Error('the rule did not warn')
  await advance(service, 24 * HOUR)
}

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

type Asked = { readonly deviceCode: string; readonly userCode: string }

/** By the flow itself, because there are too many for a socket. The limits of code requests have tests of their own: limits.test.ts. */
async function requestCodes(count: number, from: (index: number) => string): Promise<readonly Asked[]> {
  const asked = { applicationId: application.id, secret: application.secret, variant: 'token_set' } as const
  const rest = { scope: null, state: '', requestedWith: null, lifetimeSeconds: null }
  const ask = async (index: number): Promise<Asked> => {
    const made = await requestDeviceCode(service.context, { ...asked, ...rest, requestedFrom: from(index) })
    if (made.outcome !== 'requested') throw new Error(`the code request was answered ${made.outcome}`)
    return made
  }
  return inLanes(count, ask)
}

/** Each code is polled so often, as fast as it goes. Returns how many of the polls were told slow_down. */
async function hammer(codes: readonly Asked[], polls: number): Promise<number> {
  const { id: applicationId, secret } = application
  let told = 0
  await inLanes(codes.length * polls, async (index) => {
    const { deviceCode } = codes[Math.floor(index / polls)] as Asked
    const request = {
      applicationId,
      secret,
      deviceCode,
      variant: 'token_set',
      idempotencyKey: null,
      wait: null,
    } as const
    if ((await pollDeviceCode(service.context, request)).outcome === 'slow_down') told += 1
  })
  return told
}

/** Twenty at once: each begins the next as soon as it has ended one. */
async function inLanes<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  let next = 0
  const lane = async () => {
    for (let index = next++; index < count; index = next++) done[index] = await work(index)
  }
  await Promise.all(Array.from({ length: 20 }, lane))
  return done
}

/** Devices that poll as they should. */
const honestly = (by: readonly Stranger[]) => connectAll(by, 1, 203)

describe('RL-01: one rogue device among many', () => {
  const PER_SECOND = sized(100, 2)
  /** For ten minutes. */
  const POLLS = PER_SECOND * 600

  it(`polls ${PER_SECOND} times a second for an hour, and nothing happens to its application or to others`, async () => {
    await warnedByTheRule()
    const [rogue, ...others] = strangers.slice(0, 30)
    let [told, refused] = [0, 0]
    for (let window = 0; window < 6; window += 1) {
      await nextWindow(service)
      const [code] = await requestCodes(1, () => address(0))
      told += await hammer([code as Asked], POLLS)
      expect(await service.grant((code as Asked).userCode, rogue)).toBe('granted')
      refused += await honestly(others)
    }
    await nextWindow(service)
    await judgeNow(service)
    expect(told, 'all but the first of each code').toBe(6 * (POLLS - 1))
    expect(refused).toBe(0)
    expect(await read()).toMatchObject({ suspended: false, review: { verdict: 'observe' } })
  })
})

describe('RL-02: a thief with the secret', () => {
  const CODES = sized(10_000, 300)
  const NETWORKS = 5

  it(`hammers ${figure(CODES)} codes from five networks, and the application goes on as if he were not there`, async () => {
    await warnedByTheRule()
    let refused = 0
    let hammered = 0
    await threeWindows(async (window) => {
      const share = Math.floor((CODES * (window + 1)) / 3) - Math.floor((CODES * window) / 3)
      hammered += await hammer(await requestCodes(share, (index) => `198.51.${index % NETWORKS}.7`), 21)
      refused += await honestly(strangers.slice(0, 5))
    })
    expect(hammered).toBe(CODES * 20)
    const [row] = await service.database.query<{ codes: number; networks: number }>(
      `select count(*)::int as codes, count(distinct d.requested_from)::int as networks
       from early_polls e join device_codes d on d.id = e.device_code_id
       where e.application_id = $1 and e.polls >= 20 and d.requested_from <<= '198.51.0.0/16'`,
      [application.id],
    )
    // While the process itself is late it counts no early polls, so on a busy machine some are missing.
    expect(row?.networks).toBe(NETWORKS)
    expect(row?.codes, 'his codes are known to have ignored slow_down').toBeGreaterThan(CODES / 2)
    expect(refused).toBe(0)
    const { suspended, review } = await read()
    expect([suspended, review?.verdict]).toEqual([false, 'fine'])
    expect((await service.device('oauth', application).request()).status).toBe(200)
  })
})

const SYBILS = sized(100, 40)

describe(`RL-03: a thief who grants with ${SYBILS} accounts of his own`, () => {
  it('has a person called, and nothing suspended', async () => {
    await warnedByTheRule()
    const sybils = await makeStrangers(service, SYBILS, 3)
    const told = (await mailsOf(service, service.user)).length
    await threeWindows(async () => {
      await connectAll(sybils, 22)
      await honestly(strangers.slice(0, 5))
    })
    const { suspended, review } = await read()
    expect([suspended, review?.verdict]).toEqual([false, 'review'])
    expect(review?.evidence.windows.map(({ ignoringAccounts }) => ignoringAccounts)).toEqual([0, 0, 0])
    expect((await listReviews(service.context, 'open')).lines).toContainEqual(
      expect.objectContaining({ applicationId: application.id, people: SYBILS }),
    )
    expect(await mailsOf(service, service.user), 'its owner is told nothing').toHaveLength(told)
  })
})

describe('RL-04: a firmware that is really broken', () => {
  /** Every third device. */
  const connectBroken = async () => {
    await connectAll(strangers, (index) => (index % 3 === 0 ? 22 : 1))
  }

  it('is flagged within half an hour and its owner told; suspended only after the warning, and what is connected goes on', async () => {
    const before = (await mailsOf(service, service.user)).length
    await nextWindow(service)
    await connectBroken()
    await nextWindow(service)
    await judgeNow(service)
    expect(await read()).toMatchObject({ suspended: false, review: { verdict: 'warn', people: 30 } })
    expect((await mailsOf(service, service.user)).slice(before)).toEqual(['application_review'])

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
    await warnedByTheRule()
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
