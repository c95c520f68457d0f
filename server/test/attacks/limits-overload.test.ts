/** Too much at once: what is turned away, what never is, and that it can be counted (RL-07 relies on it). docs/interface.md, "Too busy". */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres, type Postgres } from '../../src/store/postgres.ts'
import { house } from '../rig/credentials.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { dialogAddress, makeDialogApplication, makePkce } from '../rig/dialog.ts'
import { makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { makeVisitor } from '../rig/visitor.ts'
import { Web } from '../rig/web.ts'

let service: TestService
let elsewhere: Postgres
beforeAll(async () => {
  // One connection for what is new, one for everything else.
  service = await startTestService({ DATABASE_CONNECTIONS: '2' })
  elsewhere = openPostgres(service.database.url, 2)
})
afterAll(async () => {
  await elsewhere.close()
  await service.stop()
})

/** New codes have to wait, as they do where PostgreSQL is too slow for all that come; rows that are there can be worked on. */
async function whileNothingNewFits(work: () => Promise<void>): Promise<void> {
  await elsewhere.transaction(async (tx) => {
    await tx.query('lock table device_codes in share mode')
    await work()
  })
}

const shedSoFar = async () => {
  const { rows } = await elsewhere.query<{ shed: number }>('select coalesce(sum(shed), 0)::int as shed from overloads')
  return rows[0]?.shed ?? 0
}

/** The issued set of a code that a user granted. */
async function issued(): Promise<WireAnswer> {
  const device = service.device()
  const code = await device.code()
  await service.grant(code.user_code)
  return device.poll(code.device_code)
}

describe('too many code requests at once', () => {
  it('are turned away with 503 and a time to come back; polls, refreshes, revocations, checks and sign-ins go on', async () => {
    const device = service.device()
    const { body: set } = await issued()
    const waiting = await device.code()
    const rejected = await device.code()
    const { web } = await makeVisitor(service)
    await service.reject(rejected.user_code)
    const before = await shedSoFar()

    let refused: WireAnswer[] = []
    await whileNothingNewFits(async () => {
      const asking = Promise.all(Array.from({ length: 40 }, () => device.request()))
      await sleep(300)
      const begun = performance.now()
      expect((await device.poll(waiting.device_code)).body.error).toBe('auth_pending')
      const bearer = { authorization: `Bearer ${set.access_token}` }
      expect((await post(service.address, '/auth/verify', { method: 'GET', headers: bearer })).status).toBe(200)
      const renewed = await house(service, device.application, '/auth/oauth/refresh', {
        refresh_token: set.refresh_token,
      })
      expect(renewed.status).toBe(200)
      const token = renewed.body.refresh_token
      expect((await house(service, device.application, '/auth/oauth/revoke', { token })).status).toBe(200)
      expect((await web.get('/applications')).status).toBe(200)
      expect(performance.now() - begun, 'nobody waits behind the codes').toBeLessThan(1_500)
      refused = await asking
    })
    const words = new Set(refused.map(({ status, body }) => `${status} ${body.error}`))
    expect([...words]).toEqual(['503 unavailable'])
    for (const { headers } of refused) {
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(2)
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(5)
    }
    await sleep(2_500)
    const shed = (await shedSoFar()) - before
    expect(shed, 'those who only waited were shed; who was at work met PostgreSQL’s own limit').toBeGreaterThan(30)
    expect(shed).toBeLessThanOrEqual(40)

    expect((await device.request()).status, 'afterwards').toBe(200)
    expect((await device.poll(rejected.device_code)).body.error).toBe('auth_rejected')
  }, 30_000)

  it('of one application leave another application its turn', async () => {
    const other = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    const loud = service.device()
    const quiet = service.device('oauth', other)
    const order: string[] = []
    const flood = Promise.all(
      Array.from({ length: 200 }, () => loud.request().then(({ status }) => order.push(`loud ${status}`))),
    )
    await sleep(5)
    const { status } = await quiet.request()
    order.push(`quiet ${status}`)
    await flood
    expect(status).toBe(200)
    expect(order.indexOf('quiet 200')).toBeLessThan(150)
    expect(order).toHaveLength(201)
  })
})

describe('a process that is late', () => {
  /** As `load` measures it: nothing else about the service is changed. */
  async function whileLate(delayMs: number, work: (late: TestService) => Promise<void>): Promise<void> {
    const late = await startTestService({ OVERLOAD_DELAY: '10' })
    const busy = setInterval(() => {
      for (const until = performance.now() + delayMs; performance.now() < until; );
    }, 1)
    try {
      await sleep(5_000)
      await work(late)
    } finally {
      clearInterval(busy)
      await late.stop()
    }
  }

  it('turns away codes and then dialogs, and answers polls', async () => {
    await whileLate(220, async (late) => {
      expect(late.context.load.overloaded()).toBe(true)
      const device = late.device()
      const application = await makeDialogApplication(late)
      const refused = await device.request()
      expect([refused.status, refused.body.error]).toEqual([503, 'unavailable'])
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      const poll = await device.poll('lkd_nonsense')
      expect([poll.status, poll.body.error], 'a poll has six outcomes').toEqual([400, 'invalid'])
      const parameters = { code_challenge: makePkce().challenge, code_challenge_method: 'S256' }
      const { pathname, search } = new URL(dialogAddress(late, { application, parameters }))
      const window = new Web(late.address, new URL(late.config.publicUrl).host)
      const page = await window.send('GET', pathname + search)
      expect([page.status, page.location]).toEqual([503, null])
      expect(Number(page.headers['retry-after'])).toBeGreaterThan(0)
    })
  }, 60_000)
})
