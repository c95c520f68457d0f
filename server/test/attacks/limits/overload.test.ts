/**
 * Overload: what is shed, what never is, and how it is counted (RL-07 depends on it).
 * docs/interface/limits.md, "Overload".
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres, type Postgres } from '../../../src/store/postgres/postgres.ts'
import { postNative } from '../../rig/credentials.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { dialogAddress, makeDialogApplication, makePkce } from '../../rig/dialog.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { Web } from '../../rig/web.ts'

let service: TestService
let elsewhere: Postgres
beforeAll(async () => {
  // One connection for new codes, one for everything else.
  service = await startTestService({ DATABASE_CONNECTIONS: '2' })
  elsewhere = openPostgres(service.database.url, 2)
})
afterAll(async () => {
  await elsewhere.close()
  await service.stop()
})

const CODE_TIMEOUT_MS = 2_000

/** Makes inserts of codes wait, as with a slow PostgreSQL; existing rows can be changed. */
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

/** The token set of a granted code. */
async function issued(): Promise<WireAnswer> {
  const device = service.device()
  const code = await device.code()
  await service.grant(code.user_code)
  return device.poll(code.device_code)
}

describe('too many code requests at once', () => {
  it('are shed with 503 and Retry-After; polls, refreshes, revocations, checks and sign-ins continue', async () => {
    const device = service.device()
    const rejected = await device.code()
    const { web } = await makeSignedInUser(service)
    await service.reject(rejected.user_code)

    let [before, refused, answeredFirst]: [number, WireAnswer[], number] = [0, [], 40]
    // Measured again if all the others took as long as a code request may, on this machine.
    let tookMs = Number.POSITIVE_INFINITY
    for (let attempt = 1; attempt <= 5 && tookMs > CODE_TIMEOUT_MS; attempt += 1) {
      const { body: set } = await issued()
      const waiting = await device.code()
      before = await shedSoFar()
      await whileNothingNewFits(async () => {
        let answered = 0
        const ask = async () => {
          const answer = await device.request()
          answered += 1
          return answer
        }
        const begun = performance.now()
        const asking = Promise.all(Array.from({ length: 40 }, ask))
        await sleep(300)
        expect((await device.poll(waiting.device_code)).body.error).toBe('auth_pending')
        const bearer = { authorization: `Bearer ${set.access_token}` }
        expect((await post(service.address, '/auth/verify', { method: 'GET', headers: bearer })).status).toBe(200)
        const { refresh_token } = set
        const renewed = await postNative(service, device.application, '/auth/oauth/refresh', { refresh_token })
        expect(renewed.status).toBe(200)
        const token = renewed.body.refresh_token
        expect((await postNative(service, device.application, '/auth/oauth/revoke', { token })).status).toBe(200)
        expect((await web.get('/applications')).status).toBe(200)
        answeredFirst = answered
        tookMs = performance.now() - begun
        refused = await asking
      })
    }
    expect(answeredFirst, 'codes that were asked for before, and answered first').toBe(0)
    const words = new Set(refused.map(({ status, body }) => `${status} ${body.error}`))
    expect([...words]).toEqual(['503 unavailable'])
    for (const { headers } of refused) {
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(2)
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(5)
    }
    // Queued requests were shed; the running one hit PostgreSQL's statement timeout.
    await expect.poll(async () => (await shedSoFar()) - before, { timeout: 30_000 }).toBeGreaterThan(30)
    expect((await shedSoFar()) - before).toBeLessThanOrEqual(40)

    expect((await device.request()).status, 'afterwards').toBe(200)
    expect((await device.poll(rejected.device_code)).body.error).toBe('auth_rejected')
  })

  it('of one application leave another application its turn', async () => {
    const other = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    const loud = service.device()
    const quiet = service.device('oauth', other)
    const order: string[] = []
    const flood = Promise.all(
      Array.from({ length: 200 }, () => loud.request().then(({ status }) => order.push(`loud ${status}`))),
    )
    await expect.poll(() => order.length, { interval: 1 }).toBeGreaterThan(0)
    const before = order.length
    const { status } = await quiet.request()
    order.push(`quiet ${status}`)
    await flood
    expect(status).toBe(200)
    expect(before, 'the others still waited').toBeLessThan(100)
    expect(order.indexOf('quiet 200') - before, 'answered meanwhile').toBeLessThan(75)
    expect(order).toHaveLength(201)
  })
})

describe('a process with a delayed event loop', () => {
  /** Event loop delay as `load` measures it; nothing else is changed. */
  async function whileLate(delayMs: number, work: (late: TestService) => Promise<void>): Promise<void> {
    const late = await startTestService({ OVERLOAD_DELAY: '10' })
    const busy = setInterval(() => {
      for (const until = performance.now() + delayMs; performance.now() < until; );
    }, 1)
    try {
      await expect.poll(() => late.context.load.figures().delayMs, { timeout: 20_000 }).toBeGreaterThan(delayMs / 3)
      await work(late)
    } finally {
      clearInterval(busy)
      await late.stop()
    }
  }

  it('sheds codes, then dialogs, and answers polls', async () => {
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
  })
})
