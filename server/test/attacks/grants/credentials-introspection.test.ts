/** TK-11 and TK-13: what introspection reveals about a credential, and what a forged one costs. */
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exchangeCode } from '../../../src/flows/dialog/exchange-code.ts'
import { checkCredential } from '../../../src/flows/grants/check-credential.ts'
import { refreshTokenSet } from '../../../src/flows/grants/refresh.ts'
import { reportCredential, revokeCredential } from '../../../src/flows/grants/revoke-credential.ts'
import { rotateAccessKey } from '../../../src/flows/grants/rotate-access-key.ts'
import { makeAccessKey, makeTokenSet } from '../../../src/secrets/credentials.ts'
import { signAuthorizationCode } from '../../../src/secrets/dialog-texts.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { createGrantSecret } from '../../../src/secrets/random.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { postNative, postStandard, restingRows } from '../../rig/credentials.ts'
import { post } from '../../rig/device.ts'
import { makeDialogApplication } from '../../rig/dialog.ts'
import { statementsOf } from '../../rig/engines/statements.ts'
import { CALLBACK, type MadeApplication } from '../../rig/make.ts'
import { USERS_FROM } from '../../rig/origins/users-from.ts'
import { makeGrant } from '../../rig/records.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

/** An hour, with `exp` rounded up and `iat` rounded down: a token is never dated in the future. */
const LIFETIME_IN_WHOLE_SECONDS = 3_601

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const introspect = (by: MadeApplication, token: string) => postStandard(service, by, '/oauth/introspect', { token })
const INACTIVE = [200, '{"active":false}']

describe('TK-11: introspection', () => {
  it('answers no unauthenticated client, and does not look up the token', async () => {
    const { credential } = await connect(service)
    const open = await makeDialogApplication(service, { public: true })
    const { id, secret } = service.application
    const forms: Record<string, string>[] = [
      { token: credential },
      { token: credential, client_id: id },
      { token: credential, client_id: id, client_secret: '' },
      { token: credential, client_id: id, client_secret: `lks_${'A'.repeat(43)}` },
      { token: credential, client_id: 'app_000000000000', client_secret: secret },
      { token: credential, client_id: open.id },
      { token: credential, client_id: open.id, client_secret: secret },
      { token: 'x', client_id: id },
    ]
    const before = await restingRows(service)
    for (const form of forms) {
      const answer = await post(service.address, '/oauth/introspect', { form })
      expect([answer.status, answer.body.error, answer.body.active]).toEqual([401, 'invalid_client', undefined])
    }
    const bearer = { authorization: `Bearer ${credential}` }
    const byToken = await post(service.address, '/oauth/introspect', { form: { token: credential }, headers: bearer })
    expect(byToken.status).toBe(401)
    const inQuery = { token: credential, client_id: id, client_secret: secret }
    expect((await post(service.address, '/oauth/introspect', { query: inQuery })).status).toBe(401)
    expect((await post(service.address, '/oauth/introspect', { query: inQuery, method: 'GET' })).status).toBe(405)
    expect(await restingRows(service)).toEqual(before)
  })

  it('shows an application its own credentials, and all others as inactive', async () => {
    const [stranger, token] = [await makeDialogApplication(service), await connect(service)]
    const key = await connect(service, { variant: 'key' })
    const dead = await connect(service)
    await postNative(service, service.application, '/auth/oauth/revoke', { token: dead.credential })
    await service.context.grantCache.pull()
    for (const { credential } of [token, key]) {
      expect((await introspect(service.application, credential)).body).toMatchObject({ active: true })
      const { status, text } = await introspect(stranger, credential)
      expect([status, text]).toEqual(INACTIVE)
    }
    const nothing = [
      token.refreshToken,
      token.deviceCode,
      dead.credential,
      service.application.secret,
      `${token.credential}A`,
      token.credential.toUpperCase(),
      `lka_0000${randomBytes(42).toString('base64url')}`,
      'x',
      '\u0000',
      '💥'.repeat(500),
    ]
    for (const text of nothing) {
      const answer = await introspect(service.application, text)
      expect([answer.status, answer.text]).toEqual(INACTIVE)
    }
  })

  it('shows a resource server the credentials of every application, and no refresh tokens', async () => {
    const gateway = await makeDialogApplication(service, { resourceServer: true, redirectUris: [] })
    const { credential, refreshToken, grantId } = await connect(service)
    const { iat, exp, ...rest } = (await introspect(gateway, credential)).body
    const elsewhere = USERS_FROM === 'host' ? { user_external_id: expect.stringMatching(/^host-/) } : {}
    expect(rest).toEqual({
      ...elsewhere,
      active: true,
      scope: 'orders:read orders:write',
      client_id: service.application.id,
      sub: service.user.id,
      account: service.account.slug,
      grant: grantId,
      token_type: 'Bearer',
      iss: service.config.publicUrl,
    })
    expect(exp - iat).toBe(LIFETIME_IN_WHOLE_SECONDS)
    const { status, text } = await introspect(gateway, refreshToken)
    expect([status, text]).toEqual(INACTIVE)
  })

  it('states the issue time of the token itself, also after a refresh', async () => {
    const { credential, refreshToken } = await connect(service)
    const first = (await introspect(service.application, credential)).body
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const renewed = await postNative(service, service.application, '/auth/oauth/refresh', {
      refresh_token: refreshToken,
    })
    await service.context.grantCache.saveUses()
    const [old, next] = [
      (await introspect(service.application, credential)).body,
      (await introspect(service.application, renewed.body.access_token)).body,
    ]
    expect([old.iat, old.exp]).toEqual([first.iat, first.exp])
    expect(next.exp - next.iat).toBe(LIFETIME_IN_WHOLE_SECONDS)
    expect(next.iat).toBeGreaterThan(first.iat)
  })
})

/** Every entry point for a credential, as its flow, with a credential of its kind. */
describe('TK-13: a forged credential', () => {
  const grant = makeGrant({ secret: createGrantSecret() })
  const foreign = parseKeyset(createKey(1)) as Keyset
  const by = () => ({ applicationId: service.application.id, secret: service.application.secret })
  const ways: [string, (keys: Keyset) => string, (text: string) => Promise<unknown>, unknown][] = [
    [
      'a check of an access token',
      (keys) => makeTokenSet(keys, grant, Date.now(), 3_600_000).accessToken,
      (text) => checkCredential(service.context, text),
      { outcome: 'not_valid' },
    ],
    [
      'a check of an access key',
      (keys) => makeAccessKey(keys, grant),
      (text) => checkCredential(service.context, text),
      { outcome: 'not_valid' },
    ],
    [
      'a refresh',
      (keys) => makeTokenSet(keys, grant, Date.now(), 3_600_000).refreshToken,
      (refreshToken) => refreshTokenSet(service.context, { ...by(), refreshToken, scope: null }),
      { outcome: 'invalid_grant' },
    ],
    [
      'a rotation',
      (keys) => makeAccessKey(keys, grant),
      (accessKey) => rotateAccessKey(service.context, { ...by(), accessKey }),
      { outcome: 'invalid_grant' },
    ],
    [
      'a revocation',
      (keys) => makeAccessKey(keys, grant),
      (credential) => revokeCredential(service.context, { ...by(), credential, variant: null }),
      { outcome: 'revoked' },
    ],
    ['a report', (keys) => makeAccessKey(keys, grant), (text) => reportCredential(service.context, text), false],
    [
      'an exchange',
      (keys) => signAuthorizationCode(keys, randomUUID()),
      (code) => {
        const rest = { redirectUri: CALLBACK, codeVerifier: null, idempotencyKey: null }
        return exchangeCode(service.context, { ...by(), code, ...rest })
      },
      { outcome: 'invalid_grant' },
    ],
  ]
  const ABOUT_GRANTS = /grants|dialogs/

  it.each(ways)('%s: signed with another key, it costs no statement', async (_what, make, way, refusal) => {
    const genuine = make(service.config.keys)
    const flipped = genuine.slice(0, -1) + (genuine.endsWith('A') ? 'Q' : 'A')
    const { statements } = await statementsOf(async () => {
      for (const text of [
        make(foreign),
        flipped,
        genuine.slice(0, -1),
        `${genuine}A`,
        `${genuine}=`,
        genuine.slice(4),
      ]) {
        expect(await way(text)).toEqual(refusal)
      }
    })
    expect(statements.filter((text) => ABOUT_GRANTS.test(text) && !/last_used_on|grant_changes/.test(text))).toEqual([])
  })

  it.each(ways)('%s: signed with our key, it is looked up and refused', async (_what, make, way, refusal) => {
    const before = await restingRows(service)
    const { result, statements } = await statementsOf(() => way(make(service.config.keys)))
    expect(result).toEqual(refusal)
    expect(statements.filter((text) => ABOUT_GRANTS.test(text)).length).toBeGreaterThan(0)
    expect(await restingRows(service)).toEqual(before)
  })

  it('a thousand forged tokens get one and the same answer', async () => {
    const { credential } = await connect(service)
    const [body, answers] = [credential.slice(8), new Set<string>()]
    for (let guess = 0; guess < 1_000; guess += 1) {
      const bytes = Buffer.from(body, 'base64url')
      randomBytes(4).copy(bytes, randomBytes(1).readUInt8() % (bytes.length - 4))
      const { status, text } = await askMe(service, `lka_0000${bytes.toString('base64url')}`)
      answers.add(`${status} ${text}`)
    }
    expect([...answers]).toEqual([expect.stringMatching(/^401 /)])
    expect((await askMe(service, credential)).status).toBe(200)
  })
})
