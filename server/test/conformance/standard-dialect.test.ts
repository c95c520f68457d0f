/**
 * The standard dialect as other people's clients expect it: the words, the numbers and the headers of RFC 6749, 7009, 7662,
 * 8414, 8628 and 9126 over the same flows as the native dialect. docs/interface/standard-dialect.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendApplication } from '../../src/flows/applications/manage.ts'
import { connect } from '../rig/connect.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { allow, makePkce } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { as, expectError } from './standard-words.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

let service: TestService
let application: MadeApplication
let publicApplication: MadeApplication
let resourceServer: MadeApplication
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
  application = await makeStandard()
  publicApplication = await makeStandard({ public: true })
  resourceServer = await makeStandard({ resourceServer: true, deviceFlow: false })
})
afterAll(() => service.stop())

async function makeStandard(wish: Parameters<typeof makeApplication>[3] = {}): Promise<MadeApplication> {
  const { context, config, account } = service
  const made = await makeApplication(context.db, config, account.slug, { redirectUris: [CALLBACK], ...wish })
  await context.applications.refresh()
  return made
}

function send(path: string, form: Record<string, string>): Promise<WireAnswer> {
  return post(service.address, path, { form })
}

async function requestDevice(by = application, form: Record<string, string> = {}): Promise<WireAnswer> {
  return send('/oauth/device_authorization', { ...as(by), ...form })
}

function poll(deviceCode: string, by = application): Promise<WireAnswer> {
  return send('/oauth/token', { ...as(by), grant_type: DEVICE_CODE, device_code: deviceCode })
}

async function exchange(by: MadeApplication, given: Record<string, string> = {}): Promise<WireAnswer> {
  const { code, pkce } = await allow(service, { application: by })
  const form = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
  return send('/oauth/token', { ...as(by), ...form, ...given })
}

describe('metadata (RFC 8414)', () => {
  const read = () => post(service.address, '/.well-known/oauth-authorization-server', { method: 'GET' })

  it('says exactly what there is', async () => {
    const issuer = service.config.publicUrl
    const answer = await read()
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
    })
    expect(answer.body).toEqual({
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
      pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
      introspection_endpoint: `${issuer}/oauth/introspect`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      scopes_supported: ['orders:read', 'orders:write'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_CODE],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      authorization_response_iss_parameter_supported: true,
      require_pushed_authorization_requests: false,
      service_documentation: `${issuer}/reference`,
    })
  })

  it('lists the scopes of the catalogue except dangerous ones, because libraries ask for all that are listed', async () => {
    const add = 'insert into scopes (name, title, dangerous, device_flow, created_at) values ($1, $1, $2, true, now())'
    await service.database.query(add, ['zebras:read', false])
    await service.database.query(add, ['zebras:release', true])
    expect((await read()).body.scopes_supported).toEqual(['orders:read', 'orders:write', 'zebras:read'])
    await service.database.query("delete from scopes where name like 'zebras:%'")
  })

  it('every address in it leads somewhere', async () => {
    const { body } = await read()
    const addresses = Object.entries<string>(body).filter(([name]) => /_endpoint$|^service_documentation$/.test(name))
    expect(addresses).toHaveLength(7)
    for (const [name, address] of addresses) {
      const { pathname } = new URL(address)
      const method = name === 'service_documentation' ? 'GET' : 'POST'
      expect((await post(service.address, pathname, { method })).status, name).not.toBe(404)
    }
  })
})

describe('the device flow (RFC 8628)', () => {
  it('answers with five fields: the page that asks for the account, and no address with the code in it', async () => {
    const answer = await requestDevice()
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).toEqual({
      device_code: expect.stringMatching(/^lkd_/),
      user_code: expect.stringMatching(/^\d{9,}$/),
      verification_uri: `${service.config.publicUrl}/activate`,
      expires_in: 600,
      interval: 5,
    })
  })

  it('authorization_pending, then slow_down for who cannot wait, then a token set, then invalid_grant', async () => {
    const { device_code, user_code } = (await requestDevice(application, { scope: 'orders:write orders:read' })).body
    const pending = await poll(device_code)
    expectError(pending, 400, 'authorization_pending')
    expect(pending.headers['retry-after']).toBe('5')
    expectError(await poll(device_code), 400, 'slow_down')
    expect(await service.grant(user_code)).toBe('granted')
    const accepted = await poll(device_code)
    expect(accepted.status).toBe(200)
    expect(accepted.headers['cache-control']).toBe('no-store')
    expect(accepted.body).toEqual({
      access_token: expect.stringMatching(/^lka_/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^lkr_/),
      scope: 'orders:write orders:read',
    })
    expectError(await poll(device_code), 400, 'invalid_grant')
  })

  it('access_denied once, then invalid_grant', async () => {
    const { device_code, user_code } = (await requestDevice()).body
    expect(await service.reject(user_code)).toBe('rejected')
    expectError(await poll(device_code), 400, 'access_denied')
    expectError(await poll(device_code), 400, 'invalid_grant')
  })

  it('expired_token once, then invalid_grant', async () => {
    const { device_code } = (await requestDevice()).body
    await service.database.advance(600_001)
    expectError(await poll(device_code), 400, 'expired_token')
    expectError(await poll(device_code), 400, 'invalid_grant')
  })

  it('a code that is made up, of another application, or of the key variant: invalid_grant', async () => {
    const { device_code } = (await requestDevice()).body
    expectError(await poll(`lkd_0000${'A'.repeat(55)}`), 400, 'invalid_grant')
    expectError(await poll(device_code, publicApplication), 400, 'invalid_grant')
    const key = await service.device('key', application).code()
    expectError(await poll(key.device_code), 400, 'invalid_grant')
    expectError(await poll(device_code), 400, 'authorization_pending')
  })

  it('an application without the device flow: unauthorized_client', async () => {
    expectError(await requestDevice(resourceServer), 400, 'unauthorized_client')
  })

  it('a scope that is unknown or not allowed: invalid_scope', async () => {
    expectError(await requestDevice(application, { scope: 'orders:read orders:delete' }), 400, 'invalid_scope')
  })
})

describe('the token endpoint (RFC 6749, section 5)', () => {
  it('a code becomes a token set of five fields', async () => {
    const answer = await exchange(application)
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^lka_/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^lkr_/),
      scope: 'orders:read',
    })
  })

  it.each([
    ['a code that is made up', { code: `lkc_0000${'A'.repeat(44)}` }],
    ['another redirect address', { redirect_uri: `${CALLBACK}/` }],
    ['another verifier', { code_verifier: makePkce().verifier }],
  ])('%s: invalid_grant', async (_what, given) => {
    expectError(await exchange(application, given), 400, 'invalid_grant')
  })

  it.each(['grant_type', 'code', 'redirect_uri'])('without %s: invalid_request, and it says which', async (name) => {
    const answer = await exchange(application, { [name]: '' })
    expectError(answer, 400, 'invalid_request')
    expect(answer.body.error_description).toContain(name)
  })

  it.each(['password', 'client_credentials', 'implicit', 'AUTHORIZATION_CODE', 'urn:ietf:params:oauth:grant-type:x'])(
    'grant_type %s: unsupported_grant_type',
    async (grant_type) => {
      expectError(await send('/oauth/token', { ...as(application), grant_type }), 400, 'unsupported_grant_type')
    },
  )

  it('a refresh token is renewed; a wider scope is invalid_scope, a made-up token invalid_grant', async () => {
    const { refresh_token } = (await exchange(application)).body
    const form = { ...as(application), grant_type: 'refresh_token', refresh_token }
    expectError(await send('/oauth/token', { ...form, scope: 'orders:read orders:write' }), 400, 'invalid_scope')
    const renewed = await send('/oauth/token', { ...form, scope: 'orders:read' })
    expect(renewed.status).toBe(200)
    expect(renewed.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'orders:read' })
    expect(renewed.body.refresh_token).not.toBe(refresh_token)
    expectError(await send('/oauth/token', { ...form, refresh_token: 'lkr_x' }), 400, 'invalid_grant')
    const other = { ...as(publicApplication), grant_type: 'refresh_token', refresh_token }
    expectError(await send('/oauth/token', other), 400, 'invalid_grant')
  })
})

describe('pages that speak for themselves (Fetch, section 3.2)', () => {
  const { origin } = new URL(CALLBACK)
  const allowed = async (path: string, form: Record<string, string>, from = origin) => {
    const answer = await post(service.address, path, { form, headers: { origin: from } })
    return [answer.status, answer.headers['access-control-allow-origin']]
  }

  it('a page where the application’s dialog returns to reads its answers, refusals too', async () => {
    const by = as(publicApplication)
    const { refresh_token } = (await exchange(publicApplication)).body
    const renewed = { ...by, grant_type: 'refresh_token', refresh_token }
    expect(await allowed('/oauth/token', renewed)).toEqual([200, origin])
    expect(await allowed('/oauth/token', { ...renewed, refresh_token: 'x' })).toEqual([400, origin])
    expect(await allowed('/oauth/token', { ...renewed, client_secret: 'x' })).toEqual([401, origin])
    expect(await allowed('/oauth/token', { ...by, grant_type: 'x' })).toEqual([400, origin])
    expect(await allowed('/oauth/token', by)).toEqual([400, origin])
    expect(await allowed('/oauth/revoke', { ...by, token: 'x' })).toEqual([200, origin])
    expect(await allowed('/oauth/revoke', by)).toEqual([400, origin])
  })

  it('no other page does', async () => {
    const form = { ...as(publicApplication), token: 'x' }
    for (const from of ['https://other.example', 'http://app.example', `${origin}:8443`, 'null']) {
      expect(await allowed('/oauth/revoke', form, from)).toEqual([200, undefined])
    }
  })
})

describe('introspection (RFC 7662) and revocation (RFC 7009)', () => {
  const introspect = (token: string, by: MadeApplication) => send('/oauth/introspect', { ...as(by), token })

  it('an application learns about its own tokens, a resource server about all, anybody else that it is not active', async () => {
    const { access_token, refresh_token } = (await exchange(application)).body
    const own = await introspect(access_token, application)
    expect(own.body).toMatchObject({
      active: true,
      client_id: application.id,
      token_type: 'Bearer',
      scope: 'orders:read',
    })
    expect((await introspect(access_token, resourceServer)).body).toEqual(own.body)
    expect((await introspect(access_token, service.application)).body).toEqual({ active: false })
    expect((await introspect(refresh_token, application)).body, 'opens no route').toEqual({ active: false })
    expect((await introspect('lka_x', application)).body).toEqual({ active: false })
  })

  it('an access key is active without an end', async () => {
    const { credential } = await connect(service, { variant: 'key' })
    const { body } = await introspect(credential, resourceServer)
    expect(body).toMatchObject({ active: true, client_id: service.application.id, sub: service.user.id })
    expect(body).not.toHaveProperty('exp')
  })

  it('introspection is only for who can prove who asks: an application without a secret cannot', async () => {
    const { access_token } = (await exchange(publicApplication)).body
    expectError(await introspect(access_token, publicApplication), 401, 'invalid_client')
  })

  it('revocation answers 200, whatever the token was; without a token it is invalid_request', async () => {
    const { access_token, refresh_token } = (await exchange(publicApplication)).body
    for (const token of ['x', refresh_token, refresh_token]) {
      const answer = await send('/oauth/revoke', { ...as(publicApplication), token, token_type_hint: 'unknown' })
      expect([answer.status, answer.body]).toEqual([200, {}])
    }
    await service.context.grantCache.pull()
    expect((await introspect(access_token, resourceServer)).body).toEqual({ active: false })
    expectError(await send('/oauth/revoke', as(publicApplication)), 400, 'invalid_request')
  })

  it('another application’s token is refused (RFC 7009, section 2.1), and stays as it was', async () => {
    const { access_token } = (await exchange(application)).body
    expectError(await send('/oauth/revoke', { ...as(publicApplication), token: access_token }), 400, 'invalid_grant')
    await service.context.grantCache.pull()
    expect((await introspect(access_token, application)).body.active).toBe(true)
  })
})

describe('pushed requests (RFC 9126)', () => {
  const push = (by: MadeApplication, given: Record<string, string> = {}) => {
    const pkce = { code_challenge: makePkce().challenge, code_challenge_method: 'S256' }
    return send('/oauth/par', { ...as(by), response_type: 'code', redirect_uri: CALLBACK, ...pkce, ...given })
  }

  it('201 with a reference and how long it lasts', async () => {
    const answer = await push(application, { scope: 'orders:read orders:write', state: 's' })
    expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store'])
    const request_uri = expect.stringMatching(/^urn:ietf:params:oauth:request_uri:./)
    expect(answer.body).toEqual({ request_uri, expires_in: 90 })
  })

  it.each([
    ['invalid_request', { redirect_uri: 'https://other.example/' }],
    ['invalid_request', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_request', { state: 'x'.repeat(1025) }],
    ['unsupported_response_type', { response_type: 'token' }],
    ['invalid_scope', { scope: 'orders:delete' }],
    // RFC 6749, section 5.2: what a client sent may not smuggle other characters into the description.
    ['invalid_scope', { scope: '"ä"\\' }],
  ])('%s for %j', async (error, given) => {
    expectError(await push(application, given), 400, error)
  })
})

describe('a suspended application', () => {
  let suspended: MadeApplication
  let before: WireAnswer['body']
  beforeAll(async () => {
    suspended = await makeStandard()
    before = (await exchange(suspended)).body
    await suspendApplication(service.context.db, suspended.id, 'a test')
    await service.context.applications.refresh()
  })

  it('gets no new codes and no new dialogs: unauthorized_client', async () => {
    expectError(await requestDevice(suspended), 400, 'unauthorized_client')
    const form = { ...as(suspended), response_type: 'code', redirect_uri: CALLBACK }
    expectError(await send('/oauth/par', form), 400, 'unauthorized_client')
  })

  it('keeps what it has: its tokens are renewed and active', async () => {
    const form = { ...as(suspended), grant_type: 'refresh_token', refresh_token: before.refresh_token }
    expect((await send('/oauth/token', form)).status).toBe(200)
    const told = await send('/oauth/introspect', { ...as(suspended), token: before.access_token })
    expect(told.body.active).toBe(true)
  })
})
