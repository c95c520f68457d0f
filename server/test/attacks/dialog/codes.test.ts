/** DG-08 to DG-10: authorization codes that are replayed, late, or presented by another application. */
import { connect as connectSocket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { removeGrant } from '../../../src/flows/grants/connected-applications.ts'
import { askMe } from '../../rig/connect.ts'
import { post, type WireAnswer, withoutExpiresIn } from '../../rig/device.ts'
import { type Allowed, allow, allSettled, exchange, makeDialogApplication, refresh, traceOf } from '../../rig/dialog.ts'
import {
  CALLBACK,
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeUser,
} from '../../rig/make.ts'
import { requestsInFlight, startTestService, type TestService } from '../../rig/service.ts'
import { everyRow, grantsOf } from '../../rig/witness.ts'

const OTHER_CALLBACK = 'https://app.example/other'

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

type Given = Allowed & { readonly application: MadeApplication; readonly user: MadeUser }

/** A new code of a user and an application that have no other. */
async function givenCode(wish: Parameters<typeof makeDialogApplication>[1] = {}): Promise<Given> {
  const application = await makeDialogApplication(service, { redirectUris: [CALLBACK, OTHER_CALLBACK], ...wish })
  const user = await makeUser(service.context.db, service.account.slug)
  return { application, user, ...(await allow(service, { application, user })) }
}

const heard = ({ status, body }: WireAnswer) => [status, status === 200 ? 'tokens' : body.error]
const GIVEN = [200, 'tokens']
const REFUSED = [400, 'invalid_grant']

/** The grant is live. */
const STANDS = {
  dialogs: ['used'],
  grants: [null],
  events: ['grant.created', 'grant.issued'],
  mails: ['grant_created'],
}
/** No token of the grant was ever issued. */
const BURNED = {
  dialogs: ['used'],
  grants: ['authorization_code_refused'],
  events: ['grant.created', 'grant.revoked'],
  mails: ['grant_created'],
}

/** The answer of /me. The use is saved at once, not during another test. */
async function statusOf(token: string): Promise<number> {
  const { status } = await askMe(service, token)
  await service.context.grantCache.saveUses()
  return status
}

const trace = ({ application, user }: Given) => traceOf(service, application, user)

/** As RFC 6749 defines it. */
function exchangeStandard({ application, code, pkce }: Given, given: Record<string, string> = {}): Promise<WireAnswer> {
  const by = { client_id: application.id, ...(application.secret === '' ? {} : { client_secret: application.secret }) }
  const form = { ...by, code, redirect_uri: CALLBACK, code_verifier: pkce.verifier, ...given }
  return post(service.address, '/oauth/token', { form: { grant_type: 'authorization_code', ...form } })
}

const dialects: [string, (given: Given) => Promise<WireAnswer>][] = [
  ['the native dialect', (given) => exchange(service, given.application, given)],
  ['the standard dialect', (given) => exchangeStandard(given)],
]

/** Locks the row, so that no exchange can finish before it is released. */
async function holdDialog({ application }: Given): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: service.database.url })
  await client.connect()
  await client.query('begin')
  await client.query('select from dialogs where application_id = $1 for update', [application.id])
  return async () => {
    await client.query('rollback')
    await client.end()
  }
}

describe.each(dialects)('a replayed code, in %s', (_dialect, present) => {
  it('DG-08: the second exchange is refused and revokes the tokens of the first; the user is notified once', async () => {
    const given = await givenCode()
    const first = await present(given)
    expect(heard(first)).toEqual(GIVEN)
    await allSettled(service)
    expect(await trace(given)).toEqual(STANDS)
    expect(await statusOf(first.body.access_token)).toBe(200)

    expect(heard(await present(given))).toEqual(REFUSED)
    const ended = {
      dialogs: ['used'],
      grants: ['authorization_code_reused'],
      events: ['grant.created', 'grant.issued', 'grant.revoked'],
      mails: ['grant_created', 'grant_ended'],
    }
    expect(await trace(given)).toEqual(ended)
    await service.context.grantCache.pull()
    expect(await statusOf(first.body.access_token)).toBe(401)
    expect(heard(await refresh(service, given.application, first.body.refresh_token))).toEqual(REFUSED)

    const before = await everyRow(service)
    for (let time = 0; time < 3; time += 1) expect(heard(await present(given))).toEqual(REFUSED)
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-08: tokens refreshed meanwhile are revoked as well', async () => {
    const given = await givenCode()
    const first = await present(given)
    await allSettled(service)
    const renewed = await refresh(service, given.application, first.body.refresh_token)
    expect(heard(renewed)).toEqual(GIVEN)
    expect(heard(await present(given))).toEqual(REFUSED)
    expect((await trace(given)).grants).toEqual(['authorization_code_reused'])
    await service.context.grantCache.pull()
    expect(await statusOf(renewed.body.access_token)).toBe(401)
    expect(heard(await refresh(service, given.application, renewed.body.refresh_token))).toEqual(REFUSED)
  })

  it('DG-08: of 64 exchanges at the same moment one succeeds, the others are only refused', async () => {
    const given = await givenCode()
    const letGo = await holdDialog(given)
    const exchanges = Array.from({ length: 64 }, () => present(given))
    await expect.poll(() => requestsInFlight(service), { timeout: 30_000 }).toBe(64)
    await letGo()
    const answers = await Promise.all(exchanges)
    expect(answers.map(heard).filter(([status]) => status === 200)).toEqual([GIVEN])
    expect(answers.map(heard).filter(([status]) => status !== 200)).toEqual(Array(63).fill(REFUSED))
    await allSettled(service)
    expect(await trace(given)).toEqual(STANDS)
    const token = answers.find(({ status }) => status === 200)?.body.access_token
    expect(await statusOf(token)).toBe(200)
  })
})

it('DG-08: none of the 64 counts as a replay because it locked the row after the answer was saved', async () => {
  const everybody = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 64 }, work))
  // Connections are opened before the race, so that all 64 have arrived when the first one is answered.
  await everybody(() => post(service.address, '/health/live', { method: 'GET' }))
  const ends: unknown[] = []
  for (let round = 0; round < 16; round += 1) {
    const given = await givenCode()
    const answers = await everybody(() => exchange(service, given.application, given))
    await allSettled(service)
    ends.push([answers.filter(({ status }) => status === 200).length, ...(await trace(given)).grants])
  }
  expect(ends).toEqual(Array(16).fill([1, null]))
})

describe('a code whose answer was lost', () => {
  /** Starts an exchange and disconnects before it can be answered. */
  async function hangUp(given: Given): Promise<void> {
    const letGo = await holdDialog(given)
    const { hostname, port } = new URL(service.address)
    const body = new URLSearchParams({
      SVCappid: given.application.id,
      SVCsecret: given.application.secret,
      code: given.code,
      redirect_uri: CALLBACK,
      code_verifier: given.pkce.verifier,
    }).toString()
    const socket = connectSocket(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      `POST /auth/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n` +
        `content-type: application/x-www-form-urlencoded\r\n\r\n${body}`,
    )
    await sleep(200)
    socket.resetAndDestroy()
    await sleep(100)
    await letGo()
    await sleep(300)
  }

  it('DG-08: is answered again once, and a further exchange is a replay', async () => {
    const given = await givenCode()
    await hangUp(given)
    expect((await trace(given)).dialogs).toEqual(['allowed'])
    const repeated = await exchange(service, given.application, given)
    expect(heard(repeated)).toEqual(GIVEN)
    await allSettled(service)
    expect(await trace(given)).toEqual(STANDS)
    expect(await statusOf(repeated.body.access_token)).toBe(200)
    expect(heard(await exchange(service, given.application, given))).toEqual(REFUSED)
    expect((await trace(given)).grants).toEqual(['authorization_code_reused'])
  })

  it('DG-09: is not answered again after its minute', async () => {
    const given = await givenCode()
    await hangUp(given)
    await service.database.advance(61_000)
    expect(heard(await exchange(service, given.application, given))).toEqual(REFUSED)
    expect((await trace(given)).grants).toEqual(['authorization_code_refused'])
  })
})

describe('an exchange with an Idempotency-Key', () => {
  const KEY = 'a8Y2-one-per-code'
  const native = ({ application, code, pkce }: Given, key: string, changed: Record<string, string> = {}) =>
    post(service.address, '/auth/oauth/token', {
      form: {
        SVCappid: application.id,
        SVCsecret: application.secret,
        code,
        redirect_uri: CALLBACK,
        code_verifier: pkce.verifier,
        ...changed,
      },
      headers: { 'idempotency-key': key },
    })
  const inStandard = ({ application, code, pkce }: Given, key: string) =>
    post(service.address, '/oauth/token', {
      form: {
        grant_type: 'authorization_code',
        client_id: application.id,
        client_secret: application.secret,
        code,
        redirect_uri: CALLBACK,
        code_verifier: pkce.verifier,
      },
      headers: { 'idempotency-key': key },
    })

  it.each([
    ['the native dialect', native],
    ['the standard dialect', inStandard],
  ])('is answered again for ten minutes, in %s', async (_dialect, present) => {
    const given = await givenCode()
    const first = await present(given, KEY)
    expect(first.status).toBe(200)
    await allSettled(service)
    await service.database.advance(599_000)
    const again = await present(given, KEY)
    expect([again.status, withoutExpiresIn(again.text)]).toEqual([200, withoutExpiresIn(first.text)])
    expect(again.body.expires_in).toBeLessThanOrEqual(3_600 - 599)
    expect(await trace(given)).toEqual(STANDS)
    await service.database.advance(2_000)
    expect(heard(await present(given, KEY))).toEqual(REFUSED)
    expect((await trace(given)).grants).toEqual(['authorization_code_reused'])
  })

  it.each([
    ['another key', 'a8Y2-another'],
    ['an empty key', ''],
    ['a malformed key', 'a8Y2-one-per code'],
  ])('is a replay with %s', async (_what, key) => {
    const given = await givenCode()
    expect((await native(given, KEY)).status).toBe(200)
    await allSettled(service)
    expect(heard(await native(given, key))).toEqual(REFUSED)
    expect((await trace(given)).grants).toEqual(['authorization_code_reused'])
  })

  it('is not answered to another redirect URI or verifier, and not after a refresh', async () => {
    const given = await givenCode()
    const first = await native(given, KEY)
    await allSettled(service)
    const wrong = { redirect_uri: 'https://evil.example/' }
    expect(heard(await native(given, KEY, wrong))).toEqual(REFUSED)
    expect(heard(await native(given, KEY, { code_verifier: 'x'.repeat(43) }))).toEqual(REFUSED)
    expect((await refresh(service, given.application, first.body.refresh_token)).status).toBe(200)
    expect(heard(await native(given, KEY))).toEqual(REFUSED)
    expect((await trace(given)).grants).toEqual([null])
  })
})

describe.each(dialects)('a late code, in %s', (_dialect, present) => {
  it('DG-09: is valid for 59 seconds', async () => {
    const given = await givenCode()
    await service.database.advance(59_000)
    expect(heard(await present(given))).toEqual(GIVEN)
    await allSettled(service)
    expect(await trace(given)).toEqual(STANDS)
  })

  it('DG-09: is refused after 61, and its grant is revoked', async () => {
    const given = await givenCode()
    await service.database.advance(61_000)
    expect(heard(await present(given))).toEqual(REFUSED)
    expect(await trace(given)).toEqual(BURNED)
    const before = await everyRow(service)
    expect(heard(await present(given))).toEqual(REFUSED)
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('a code presented by another application', () => {
  async function expectBurned(given: Given, wrong: Promise<WireAnswer>): Promise<void> {
    expect(heard(await wrong)).toEqual(REFUSED)
    expect(await trace(given)).toEqual(BURNED)
    const before = await everyRow(service)
    for (const [, present] of dialects) expect(heard(await present(given)), 'also in the right ones').toEqual(REFUSED)
    expect(await everyRow(service)).toEqual(before)
  }

  it('DG-10: is refused and no longer valid', async () => {
    const given = await givenCode()
    const thief = await makeDialogApplication(service)
    await expectBurned(given, exchange(service, thief, given))
    expect((await grantsOf(service, given.user)).map((grant) => grant.application_id)).toEqual([given.application.id])
  })

  it('DG-10: is refused in the standard dialect, for a public application, and for one of another account', async () => {
    const elsewhere = await makeAccount(service.context.db)
    const { context, config } = service
    const wish = { redirectUris: [CALLBACK], deviceFlow: false }
    const thieves = [
      await makeDialogApplication(service),
      await makeDialogApplication(service, { public: true }),
      await makeApplication(context.db, config, elsewhere.slug, wish),
    ]
    await context.applications.refresh()
    for (const application of thieves) {
      const given = await givenCode()
      await expectBurned(given, exchangeStandard({ ...given, application }))
    }
  })

  it.each([
    ['another of its registered addresses', OTHER_CALLBACK],
    ['one that is not registered', 'https://evil.example/'],
    ['a spelling of the right one', `${CALLBACK}/`],
  ])('DG-10: with %s it is no longer valid', async (_what, redirect_uri) => {
    const given = await givenCode()
    await expectBurned(given, exchange(service, given.application, given, { redirect_uri }))
  })

  it('DG-10: is no longer valid for the public application that it was issued to', async () => {
    const given = await givenCode({ public: true })
    await expectBurned(given, exchange(service, await makeDialogApplication(service), given))
  })

  it.each([
    ['a wrong secret', { SVCsecret: 'wrong' }, 401],
    ['no secret', { SVCsecret: '' }, 401],
    ['no such application', { SVCappid: 'app_000000000000' }, 401],
    ['no redirect address', { redirect_uri: '' }, 400],
  ])(
    'DG-10: with %s nothing is looked at, so nobody can burn a code without being known',
    async (_what, wrong, status) => {
      const given = await givenCode()
      const before = await everyRow(service)
      const answer = await exchange(service, given.application, given, wrong)
      expect([answer.status, answer.body.access_token]).toEqual([status, undefined])
      expect(await everyRow(service)).toEqual(before)
      expect(heard(await exchange(service, given.application, given))).toEqual(GIVEN)
    },
  )

  it('DG-10: a malformed or altered code changes nothing', async () => {
    const given = await givenCode()
    const before = await everyRow(service)
    const swapped = given.code.at(-2) === 'A' ? 'B' : 'A'
    const texts = [
      'x',
      'lkc_',
      given.code.slice(0, -1),
      `${given.code}A`,
      `${given.code.slice(0, -2)}${swapped}${given.code.at(-1)}`,
      given.code.replace('lkc_', 'lka_'),
      given.code.toUpperCase(),
      `${given.code}\u0000`,
      ` ${given.code}`,
    ]
    for (const code of texts)
      expect([code, ...heard(await exchange(service, given.application, given, { code }))]).toEqual([code, ...REFUSED])
    expect(await everyRow(service)).toEqual(before)
    expect(heard(await exchange(service, given.application, given))).toEqual(GIVEN)
  })

  it('DG-10: a code is accepted neither as an access token nor as a refresh token', async () => {
    const given = await givenCode()
    expect(await statusOf(given.code)).toBe(401)
    expect(heard(await refresh(service, given.application, given.code))).toEqual(REFUSED)
    expect(heard(await exchange(service, given.application, given))).toEqual(GIVEN)
  })

  it('DG-10: a grant that the user revoked before the exchange is not issued', async () => {
    const given = await givenCode()
    const [grant] = await grantsOf(service, given.user)
    const removal = { by: given.user.id, grantId: grant?.id ?? '', asAdministrator: false, reported: false }
    expect((await removeGrant(service.context, removal)).outcome).toBe('removed')
    expect(heard(await exchange(service, given.application, given))).toEqual(REFUSED)
    expect((await trace(given)).events).toEqual(['grant.created', 'grant.revoked'])
  })
})
