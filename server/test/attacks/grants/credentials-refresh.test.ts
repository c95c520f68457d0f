/** TK-01 to TK-07: a refresh token has one successor, and reuse of an old one revokes the grant. */
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGrantCache } from '../../../src/flows/grants/cache.ts'
import { checkCredential } from '../../../src/flows/grants/check-credential.ts'
import { refreshLimits } from '../../../src/flows/grants/refresh.ts'
import { makeTokenSet } from '../../../src/secrets/credentials.ts'
import { announce } from '../../../src/store/grants/changes.ts'
import { askMe, type Connected, connect } from '../../rig/connect.ts'
import { grantEvents, grantLine, grantSecret, postStandard, restingRows } from '../../rig/credentials.ts'
import { type WireAnswer, withoutExpiresIn } from '../../rig/device.ts'
import { makeDialogApplication, refresh } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { makeGrant } from '../../rig/records.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { sized } from '../../rig/size.ts'
import { mailsOf } from '../../rig/witness.ts'

const DAY_MS = 24 * 60 * 60 * 1000

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

const makeClerk = () => makeUser(service.context.db, service.account.slug, { holds: ['orders:read', 'orders:write'] })

const renew = (token: string, given: Record<string, string> = {}, by = service.application) =>
  refresh(service, by, token, given)

/** The next token set; throws if refused. */
async function next(token: string): Promise<{ access_token: string; refresh_token: string }> {
  const answer = await renew(token)
  expect(answer.status).toBe(200)
  return answer.body
}

const refused = (answer: WireAnswer) => [answer.status, answer.body.error]
const INVALID_GRANT = [400, 'invalid_grant']

/** The grant is revoked: its credentials fail, and the rows, the event and the mail state the reason. */
async function expectReuse(
  { grantId }: Connected,
  user: { id: string; email: string },
  texts: string[],
): Promise<void> {
  expect(await grantLine(service, grantId)).toMatchObject({ revocation_reason: 'refresh_token_reused' })
  expect(await grantEvents(service, grantId)).toEqual([
    { kind: 'grant.revoked', detail: { reason: 'refresh_token_reused' } },
  ])
  expect((await mailsOf(service, user)).filter((kind) => kind === 'grant_ended')).toEqual(['grant_ended'])
  await service.context.grantCache.pull()
  for (const text of texts) {
    expect((await askMe(service, text)).status).toBe(401)
    expect(refused(await renew(text))).toEqual(INVALID_GRANT)
  }
}

/** Retries 503 as clients do: PostgreSQL may take too long for so many at once. */
async function renewWhenServed(token: string): ReturnType<typeof renew> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await renew(token)
    if (answer.status !== 503 || attempt === 5) return answer
    await sleep(200)
  }
}

describe('TK-01: many refreshes at the same moment', () => {
  const FAMILIES = sized(1_000, 3)

  it(`in each of ${FAMILIES} grants, all return one and the same successor, and the generation rises by one`, async () => {
    for (let family = 0; family < FAMILIES; family += 1) {
      const { refreshToken, grantId, credential } = await connect(service)
      const answers = await Promise.all(Array.from({ length: 64 }, () => renewWhenServed(refreshToken)))
      expect(new Set(answers.map(({ status, text }) => `${status} ${withoutExpiresIn(text)}`)).size).toBe(1)
      for (const { body } of answers) expect(body.expires_in).toBeLessThanOrEqual(3600)
      const [first] = answers
      expect(first?.status).toBe(200)
      expect(first?.body.refresh_token).not.toBe(refreshToken)
      expect(await grantLine(service, grantId)).toMatchObject({ generation: 2, revocation_reason: null })
      for (const text of [credential, first?.body.access_token]) expect((await askMe(service, text)).status).toBe(200)
    }
  })

  it('of all generations return at most one successor each, and the grant is revoked', async () => {
    const user = await makeClerk()
    const connected = await connect(service, { user })
    const second = await next(connected.refreshToken)
    const third = await next(second.refresh_token)
    const texts = [connected.refreshToken, second.refresh_token, third.refresh_token]
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => ({ token: texts[index % 3] ?? '' })).map(async ({ token }) => ({
        token,
        answer: await renewWhenServed(token),
      })),
    )
    for (const token of texts) {
      const given = answers.filter((each) => each.token === token && each.answer.status === 200)
      expect(new Set(given.map(({ answer }) => withoutExpiresIn(answer.text))).size).toBeLessThanOrEqual(1)
    }
    for (const { token, answer } of answers) {
      if (answer.status !== 200) expect(refused(answer)).toEqual(INVALID_GRANT)
      if (token === connected.refreshToken) expect(answer.status).toBe(400)
    }
    expect((await grantLine(service, connected.grantId))?.generation).toBeLessThanOrEqual(4)
    await expectReuse(connected, user, [...texts, third.access_token])
  })
})

describe('TK-02: reuse', () => {
  it('of the first token after the second was used revokes the grant, with an event and one mail', async () => {
    const user = await makeClerk()
    const connected = await connect(service, { user })
    const second = await next(connected.refreshToken)
    const third = await next(second.refresh_token)
    expect(refused(await renew(connected.refreshToken))).toEqual(INVALID_GRANT)
    const texts = [connected.refreshToken, second.refresh_token, third.refresh_token]
    await expectReuse(connected, user, [...texts, connected.credential, third.access_token])
  })

  it('answers invalid_grant in both dialects, with the same text as any other refusal', async () => {
    const { refreshToken } = await connect(service)
    await next((await next(refreshToken)).refresh_token)
    const reused = await renew(refreshToken)
    expect(reused.text).toBe((await renew('lkr_made-up')).text)
    const inStandard = (refresh_token: string) =>
      postStandard(service, service.application, '/oauth/token', { grant_type: 'refresh_token', refresh_token })
    const other = await connect(service)
    await next((await next(other.refreshToken)).refresh_token)
    expect((await inStandard(other.refreshToken)).text).toBe((await inStandard('lkr_made-up')).text)
    expect(await grantLine(service, other.grantId)).toMatchObject({ revocation_reason: 'refresh_token_reused' })
  })

  it('is not assumed for a token newer than a restored database: it is refused, and nothing changes', async () => {
    const secret = await grantSecret(service, (await connect(service)).grantId)
    const keys = service.config.keys
    const { refreshToken } = makeTokenSet(keys, makeGrant({ secret, generation: 7 }), Date.now(), 3_600_000)
    const before = await restingRows(service)
    expect(refused(await renew(refreshToken))).toEqual(INVALID_GRANT)
    expect(await restingRows(service)).toEqual(before)
  })
})

/** An API has accepted the access token, and the process has saved that. */
async function use(accessToken: string): Promise<void> {
  expect((await askMe(service, accessToken)).status).toBe(200)
  await service.context.grantCache.saveUses()
}

it('TK-03: within the grace period only the immediate predecessor is accepted', async () => {
  const user = await makeClerk()
  const connected = await connect(service, { user })
  const second = await next(connected.refreshToken)
  expect(await next(connected.refreshToken)).toEqual({ ...second, expires_in: expect.any(Number) })
  const third = await next(second.refresh_token)
  expect(await next(second.refresh_token)).toEqual({ ...third, expires_in: expect.any(Number) })
  expect(refused(await renew(connected.refreshToken))).toEqual(INVALID_GRANT)
  await expectReuse(connected, user, [second.refresh_token, third.refresh_token, third.access_token])
})

describe('TK-04: a lost answer', () => {
  it.each([1_000, 29_000])(
    'is given again after %i ms, with the seconds that are left, and nothing moves',
    async (later) => {
      const { refreshToken, grantId } = await connect(service)
      const first = await renew(refreshToken)
      const line = await grantLine(service, grantId)
      await service.database.advance(later)
      const again = await renew(refreshToken)
      expect([again.status, withoutExpiresIn(again.text)]).toEqual([200, withoutExpiresIn(first.text)])
      expect(first.body.expires_in - again.body.expires_in).toBeGreaterThanOrEqual(later / 1000)
      expect(await grantLine(service, grantId)).toEqual(line)
      expect((await renew(again.body.refresh_token)).status).toBe(200)
    },
  )

  it('after a closed connection is returned to the next request', async () => {
    const { refreshToken, grantId } = await connect(service)
    const holding = new pg.Client({ connectionString: service.database.url })
    await holding.connect()
    await holding.query('begin')
    await holding.query('select from grants where id = $1 for update', [grantId])
    const { id, secret } = service.application
    const body = new URLSearchParams({ SVCappid: id, SVCsecret: secret, refresh_token: refreshToken }).toString()
    const { hostname, port } = new URL(service.address)
    const socket = createConnection(Number(port), hostname)
    socket.write(
      `POST /auth/oauth/refresh HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n` +
        `content-type: application/x-www-form-urlencoded\r\n\r\n${body}`,
    )
    await sleep(200)
    socket.destroy()
    await holding.end()
    while ((await grantLine(service, grantId))?.generation !== 2) await sleep(20)
    const [answer, again] = [await renew(refreshToken), await renew(refreshToken)]
    expect([answer.status, withoutExpiresIn(again.text)]).toEqual([200, withoutExpiresIn(answer.text)])
    expect(await grantLine(service, grantId)).toMatchObject({ generation: 2, revocation_reason: null })
  })

  it.each([31_000, 3_000_000])('is given again after %i ms if no token of it was used', async (later) => {
    const { refreshToken, credential } = await connect(service)
    const first = await renew(refreshToken)
    await service.database.advance(later)
    // Its predecessor's access token says nothing about whether the answer arrived.
    await use(credential)
    const again = await renew(refreshToken)
    expect([again.status, withoutExpiresIn(again.text)]).toEqual([200, withoutExpiresIn(first.text)])
    expect(again.body.expires_in).toBeLessThanOrEqual(3600 - later / 1000)
  })

  it('given again after its access token has expired has a new one, and the same refresh token', async () => {
    const { refreshToken, grantId } = await connect(service)
    const first = await next(refreshToken)
    await service.database.advance(2 * DAY_MS)
    await service.context.applications.refresh()
    const again = await renew(refreshToken)
    expect(again.body).toMatchObject({ refresh_token: first.refresh_token, expires_in: 3600 })
    expect((await askMe(service, again.body.access_token)).status).toBe(200)
    expect((await askMe(service, first.access_token)).status).toBe(401)
    expect(withoutExpiresIn((await renew(refreshToken)).text)).toBe(withoutExpiresIn(again.text))
    expect(await grantLine(service, grantId)).toMatchObject({ generation: 2, revocation_reason: null })
  })

  it('is given again within 30 seconds although it was used: several processes share the token', async () => {
    const { refreshToken } = await connect(service)
    const first = await renew(refreshToken)
    await use(first.body.access_token)
    await service.database.advance(29_000)
    expect(withoutExpiresIn((await renew(refreshToken)).text)).toBe(withoutExpiresIn(first.text))
  })

  it('costs one write per generation, however often and in however many processes its access token is accepted', async () => {
    const { refreshToken, grantId } = await connect(service)
    await service.context.grantCache.saveUses()
    const { access_token } = await next(refreshToken)
    const versions = async () => (await service.database.query('select xmin from grants where id = $1', [grantId]))[0]
    const before = await versions()
    for (let times = 0; times < 20; times += 1) await use(access_token)
    const after = await versions()
    expect(after).not.toEqual(before)
    const other = createGrantCache(service.context.db)
    await other.pull()
    for (let times = 0; times < 20; times += 1) {
      await checkCredential({ ...service.context, grantCache: other }, access_token)
      await other.saveUses()
    }
    expect(await versions()).toEqual(after)
  })

  it('requested again after 31 seconds, and after it was used, revokes the grant: two parties hold the token', async () => {
    const user = await makeClerk()
    const connected = await connect(service, { user })
    const second = await next(connected.refreshToken)
    await use(second.access_token)
    await service.database.advance(31_000)
    expect(refused(await renew(connected.refreshToken))).toEqual(INVALID_GRANT)
    await expectReuse(connected, user, [second.refresh_token, second.access_token, connected.credential])
  })

  it('does not restart the grace period', async () => {
    const { refreshToken, grantId } = await connect(service)
    const { access_token } = await next(refreshToken)
    await service.database.advance(20_000)
    await next(refreshToken)
    await use(access_token)
    await service.database.advance(20_000)
    expect(refused(await renew(refreshToken))).toEqual(INVALID_GRANT)
    expect(await grantLine(service, grantId)).toMatchObject({ revocation_reason: 'refresh_token_reused' })
  })
})

describe('TK-05: a refresh token in other hands', () => {
  const strangers: [string, () => Promise<MadeApplication>][] = [
    ['another application of the same account', () => makeDialogApplication(service)],
    ['a public application', () => makeDialogApplication(service, { public: true })],
    ['a resource server', () => makeDialogApplication(service, { resourceServer: true, redirectUris: [CALLBACK] })],
    [
      'an application of another account',
      async () => {
        const { slug } = await makeAccount(service.context.db)
        const application = await makeApplication(service.context.db, service.config, slug)
        await service.context.applications.refresh()
        return application
      },
    ],
  ]

  it.each(strangers)('%s gets invalid_grant in both dialects, and nothing changes', async (_who, make) => {
    const [stranger, { refreshToken }] = [await make(), await connect(service)]
    const second = await next(refreshToken)
    const before = await restingRows(service)
    for (const token of [second.refresh_token, refreshToken]) {
      expect(refused(await renew(token, {}, stranger))).toEqual(INVALID_GRANT)
      const form = { grant_type: 'refresh_token', refresh_token: token }
      expect(refused(await postStandard(service, stranger, '/oauth/token', form))).toEqual(INVALID_GRANT)
    }
    expect(await restingRows(service)).toEqual(before)
    expect((await renew(second.refresh_token)).status).toBe(200)
  })

  it.each([
    ['without a secret', { SVCsecret: '' }],
    ['with the wrong secret', { SVCsecret: `lks_${'A'.repeat(43)}` }],
    ['under a made-up id', { SVCappid: 'app_000000000000' }],
  ])('its own application %s is not authenticated, and nothing changes', async (_how, given) => {
    const { refreshToken } = await connect(service)
    await next(refreshToken)
    const before = await restingRows(service)
    expect(refused(await renew(refreshToken, given))).toEqual([401, 'invalid_application'])
    expect(await restingRows(service)).toEqual(before)
  })

  it('a refresh token of an access key’s grant is refused, even with a valid signature', async () => {
    const secret = await grantSecret(service, (await connect(service, { variant: 'key' })).grantId)
    const set = makeTokenSet(service.config.keys, makeGrant({ secret }), Date.now(), 3_600_000)
    const before = await restingRows(service)
    expect(refused(await renew(set.refreshToken))).toEqual(INVALID_GRANT)
    expect((await askMe(service, set.accessToken)).status).toBe(401)
    expect(await restingRows(service)).toEqual(before)
  })
})

describe('TK-06: scope at a refresh', () => {
  it.each(['orders:read,orders:write', 'orders:write', 'money:move', 'orders:read orders:read,orders:write', '*'])(
    '%s, of which only orders:read was granted, is refused and nothing moves',
    async (scope) => {
      const { refreshToken } = await connect(service, { scope: 'orders:read' })
      const before = await restingRows(service)
      expect(refused(await renew(refreshToken, { scope }))).toEqual([400, 'invalid_scope'])
      expect(await restingRows(service)).toEqual(before)
      expect((await renew(refreshToken)).body.scope).toBe('orders:read')
    },
  )

  it.each(['orders:read', '', 'orders:write,orders:read'])('"%s" changes nothing', async (scope) => {
    const { refreshToken, grantId } = await connect(service)
    const answer = await renew(refreshToken, { scope })
    expect(answer.body.scope).toBe('orders:read,orders:write')
    const [row] = await service.database.query('select scopes from grants where id = $1', [grantId])
    expect(row).toEqual({ scopes: ['orders:read', 'orders:write'] })
  })

  it('a scope that the user lost is not in the answer, and returns with the role', async () => {
    const user = await makeClerk()
    const { refreshToken } = await connect(service, { user })
    const taken = await service.database.query(
      `delete from role_scopes r using user_roles u where u.role_id = r.role_id and u.user_id = $1
       and scope = 'orders:write' returning r.*`,
      [user.id],
    )
    const second = await renew(refreshToken)
    expect(second.body.scope).toBe('orders:read')
    await service.database.query("insert into role_scopes (role_id, scope) values ($1, 'orders:write')", [
      taken[0]?.role_id,
    ])
    expect((await renew(second.body.refresh_token)).body.scope).toBe('orders:read,orders:write')
  })
})

describe('TK-07: the lifetime of a token set', () => {
  it('ends a year after the decision, however often it was refreshed', async () => {
    const { refreshToken, grantId } = await connect(service)
    let token = refreshToken
    let days = 0
    for (; days < 400; days += 1) {
      const answer = await renew(token)
      if (answer.status !== 200) break
      token = answer.body.refresh_token
      await service.database.advance(DAY_MS)
    }
    expect(days).toBe(365)
    expect(refused(await renew(token))).toEqual(INVALID_GRANT)
    expect(await grantLine(service, grantId)).toMatchObject({ generation: 366, revocation_reason: null })
    expect(refreshLimits(service.config).maxMs).toBe(365 * DAY_MS)
  })

  it('ends 60 days after the last refresh, and not before', async () => {
    const { refreshToken, grantId } = await connect(service)
    await service.database.advance(59 * DAY_MS)
    const { refresh_token } = await next(refreshToken)
    await service.database.advance(59 * DAY_MS)
    const third = await next(refresh_token)
    await service.database.advance(60 * DAY_MS)
    const before = await restingRows(service)
    for (const token of [third.refresh_token, refreshToken]) expect(refused(await renew(token))).toEqual(INVALID_GRANT)
    expect(await restingRows(service)).toEqual(before)
    expect(await grantLine(service, grantId)).toMatchObject({ generation: 3, revocation_reason: null })
  })

  it('does not apply to access keys', async () => {
    const { credential } = await connect(service, { variant: 'key' })
    await service.database.advance(800 * DAY_MS)
    await service.context.db.transaction((tx) => announce(tx, { accountId: service.account.id }))
    await service.context.grantCache.pull()
    expect((await askMe(service, credential)).status).toBe(200)
  })
})
