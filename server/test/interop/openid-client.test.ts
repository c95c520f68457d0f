/** openid-client, unchanged from npm, with the standard dialect. docs/interface/standard-dialect.md. */
import * as client from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askMe } from '../rig/connect.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { METHODS, type Method, makeClient, makeResourceServer } from './clients.ts'
import { decideDevice, decideDialog } from './person.ts'

let service: TestService
let resourceServer: client.Configuration
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  resourceServer = await discover(await makeResourceServer(service), 'client_secret_basic')
})
afterAll(() => service.stop())

/** The configuration of a developer: issuer, client id and secret. */
function discover(application: MadeApplication, method: Method): Promise<client.Configuration> {
  const authentication = {
    client_secret_post: () => client.ClientSecretPost(application.secret),
    client_secret_basic: () => client.ClientSecretBasic(application.secret),
    none: () => client.None(),
  }[method]()
  return client.discovery(new URL(service.config.publicUrl), application.id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
  })
}

const SCOPE = 'orders:read orders:write'

/** The request, and what the library checks the callback with. */
async function begin() {
  const [pkceCodeVerifier, expectedState] = [client.randomPKCECodeVerifier(), client.randomState()]
  const parameters = {
    redirect_uri: CALLBACK,
    scope: SCOPE,
    state: expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  }
  return { parameters, checks: { pkceCodeVerifier, expectedState } }
}

async function authorize(config: client.Configuration) {
  const { parameters, checks } = await begin()
  const returned = await decideDialog(service, client.buildAuthorizationUrl(config, parameters))
  return client.authorizationCodeGrant(config, returned, checks)
}

const TOKENS = {
  access_token: expect.stringMatching(/^lka_/),
  refresh_token: expect.stringMatching(/^lkr_/),
  token_type: 'bearer',
  expires_in: 3600,
  scope: SCOPE,
}

describe.each(METHODS)('with %s', (method) => {
  let application: MadeApplication
  let config: client.Configuration
  beforeAll(async () => {
    application = await makeClient(service, method)
    config = await discover(application, method)
  })

  it('a code is exchanged for a token set, with PKCE, state and issuer checked by the library', async () => {
    const tokens = await authorize(config)
    expect(tokens).toMatchObject(TOKENS)
    const me = await askMe(service, tokens.access_token)
    expect(me.body).toMatchObject({ application: application.id, user: service.user.id, variant: 'token_set' })
  })

  it('a pushed request leads to the same dialog, with only a reference in the URL', async () => {
    const { parameters, checks } = await begin()
    const address = await client.buildAuthorizationUrlWithPAR(config, parameters)
    expect([...address.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri'])
    const returned = await decideDialog(service, address)
    expect(await client.authorizationCodeGrant(config, returned, checks)).toMatchObject(TOKENS)
  })

  it('a token set is refreshed, and the new one is valid', async () => {
    const tokens = await authorize(config)
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(renewed).toMatchObject(TOKENS)
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token)
    expect((await askMe(service, renewed.access_token)).status).toBe(200)
  })

  it('a device polls until the user grants its code at the verification URI', async () => {
    const shown = await client.initiateDeviceAuthorization(config, { scope: SCOPE })
    expect(shown.verification_uri).toBe(`${service.config.publicUrl}/activate`)
    const [tokens] = await Promise.all([
      client.pollDeviceAuthorizationGrant(config, shown),
      // Not before the first poll: the library has to get authorization_pending and continue.
      new Promise((resolve) => setTimeout(resolve, 1_500)).then(() => decideDevice(service, shown)),
    ])
    expect(tokens).toMatchObject(TOKENS)
    expect((await askMe(service, tokens.access_token)).body.application).toBe(application.id)
  })

  it('a device gets access_denied when the user rejects', async () => {
    const shown = await client.initiateDeviceAuthorization(config, { scope: SCOPE })
    await decideDevice(service, shown, 'cancel')
    await expect(client.pollDeviceAuthorizationGrant(config, shown)).rejects.toMatchObject({
      name: 'ResponseBodyError',
      status: 400,
      error: 'access_denied',
    })
  })

  it('a token is active until the library revokes it, for its own application and for a resource server', async () => {
    const { access_token, refresh_token = '' } = await authorize(config)
    const asked = method === 'none' ? [resourceServer] : [config, resourceServer]
    const now = Date.now() / 1000
    for (const by of asked) {
      const told = await client.tokenIntrospection(by, access_token, { token_type_hint: 'access_token' })
      expect(told).toEqual({
        active: true,
        scope: SCOPE,
        client_id: application.id,
        sub: service.user.id,
        account: service.account.slug,
        grant: expect.stringMatching(/^grt_/),
        token_type: 'Bearer',
        iss: service.config.publicUrl,
        iat: expect.closeTo(now, -2),
        exp: expect.closeTo(now + 3600, -2),
      })
    }
    expect(await client.tokenRevocation(config, refresh_token, { token_type_hint: 'refresh_token' })).toBeUndefined()
    await service.context.grantCache.pull()
    for (const by of asked) expect(await client.tokenIntrospection(by, access_token)).toEqual({ active: false })
    await expect(client.refreshTokenGrant(config, refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})

describe('errors have the names of the RFCs', () => {
  let config: client.Configuration
  beforeAll(async () => {
    config = await discover(await makeClient(service, 'client_secret_basic'), 'client_secret_basic')
  })

  it('a rejection: access_denied', async () => {
    const { parameters, checks } = await begin()
    const returned = await decideDialog(service, client.buildAuthorizationUrl(config, parameters), 'cancel')
    await expect(client.authorizationCodeGrant(config, returned, checks)).rejects.toMatchObject({
      name: 'AuthorizationResponseError',
      error: 'access_denied',
    })
  })

  it.each([
    ['state', 'somebody else’s'],
    ['iss', 'https://other.example'],
    ['iss', null],
  ])('a callback whose %s is %j is refused by the library, and the correct one still works', async (name, value) => {
    const { parameters, checks } = await begin()
    const returned = await decideDialog(service, client.buildAuthorizationUrl(config, parameters))
    const forged = new URL(returned)
    if (value === null) forged.searchParams.delete(name)
    else forged.searchParams.set(name, value)
    await expect(client.authorizationCodeGrant(config, forged, checks)).rejects.toMatchObject({
      cause: { message: expect.stringContaining(`"${name}"`) },
    })
    expect(await client.authorizationCodeGrant(config, returned, checks)).toMatchObject(TOKENS)
  })

  it('a wrong verifier: invalid_grant', async () => {
    const { parameters, checks } = await begin()
    const returned = await decideDialog(service, client.buildAuthorizationUrl(config, parameters))
    const other = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() }
    await expect(client.authorizationCodeGrant(config, returned, other)).rejects.toMatchObject({
      name: 'ResponseBodyError',
      status: 400,
      error: 'invalid_grant',
    })
  })

  it('a scope that the application is not allowed: invalid_scope', async () => {
    const { parameters } = await begin()
    const asked = { ...parameters, scope: 'orders:delete' }
    await expect(client.buildAuthorizationUrlWithPAR(config, asked)).rejects.toMatchObject({ error: 'invalid_scope' })
    await expect(client.initiateDeviceAuthorization(config, { scope: 'orders:delete' })).rejects.toMatchObject({
      error: 'invalid_scope',
    })
  })

  it.each(METHODS.filter((method) => method !== 'none'))(
    'a wrong secret with %s: 401 and a challenge',
    async (method) => {
      const { id } = await makeClient(service, method)
      const wrong = await discover({ id, secret: `lks_${'x'.repeat(43)}` }, method)
      await expect(client.initiateDeviceAuthorization(wrong, {})).rejects.toMatchObject({
        name: 'WWWAuthenticateChallengeError',
        status: 401,
        cause: [{ scheme: 'basic', parameters: { realm: 'latchkey' } }],
      })
    },
  )
})
