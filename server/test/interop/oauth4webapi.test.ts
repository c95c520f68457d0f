/** oauth4webapi, unchanged from npm, with the standard dialect: each request and each check by its own function. */
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askMe } from '../rig/connect.ts'
import { allSettled } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { METHODS, type Method, makeClient, makeResourceServer } from './clients.ts'
import { decideDevice, decideDialog } from './person.ts'

let service: TestService
let server: oauth.AuthorizationServer
let resourceServer: MadeApplication
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  resourceServer = await makeResourceServer(service)
  const issuer = new URL(service.config.publicUrl)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...HTTP })
  server = await oauth.processDiscoveryResponse(issuer, response)
})
afterAll(() => service.stop())

const HTTP = { [oauth.allowInsecureRequests]: true }

const SCOPE = 'orders:read orders:write'

const TOKENS = {
  access_token: expect.stringMatching(/^lka_/),
  refresh_token: expect.stringMatching(/^lkr_/),
  token_type: 'bearer',
  expires_in: 3600,
  scope: SCOPE,
}

function proving(method: Method, secret: string): oauth.ClientAuth {
  if (method === 'none') return oauth.None()
  return method === 'client_secret_post' ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
}

/** The application's side of the dialog: the request, and what the callback is checked with. */
async function begin(client: oauth.Client) {
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
  const parameters = {
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: SCOPE,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  return { parameters, verifier, state }
}

function dialogAddress(parameters: Record<string, string>): URL {
  const address = new URL(server.authorization_endpoint ?? '')
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  return address
}

describe.each(METHODS)('with %s', (method) => {
  let client: oauth.Client
  let proof: oauth.ClientAuth
  beforeAll(async () => {
    const { id, secret } = await makeClient(service, method)
    client = { client_id: id }
    proof = proving(method, secret)
  })

  async function exchange(returned: URL, begun: { state: string; verifier: string }) {
    const parameters = oauth.validateAuthResponse(server, client, returned, begun.state)
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      proof,
      parameters,
      CALLBACK,
      begun.verifier,
      HTTP,
    )
    return oauth.processAuthorizationCodeResponse(server, client, response)
  }

  async function authorize() {
    const begun = await begin(client)
    return exchange(await decideDialog(service, dialogAddress(begun.parameters)), begun)
  }

  async function refresh(refreshToken = '') {
    const response = await oauth.refreshTokenGrantRequest(server, client, proof, refreshToken, HTTP)
    return oauth.processRefreshTokenResponse(server, client, response)
  }

  async function requestDevice() {
    const response = await oauth.deviceAuthorizationRequest(server, client, proof, { scope: SCOPE }, HTTP)
    return oauth.processDeviceAuthorizationResponse(server, client, response)
  }

  async function poll(deviceCode: string) {
    const response = await oauth.deviceCodeGrantRequest(server, client, proof, deviceCode, HTTP)
    return oauth.processDeviceCodeResponse(server, client, response)
  }

  it('a code is exchanged for a valid token set', async () => {
    const tokens = await authorize()
    expect(tokens).toMatchObject(TOKENS)
    const me = new URL('/1/me', service.config.publicUrl)
    const response = await oauth.protectedResourceRequest(tokens.access_token, 'GET', me, undefined, undefined, HTTP)
    expect(await response.json()).toMatchObject({ application: client.client_id, user: service.user.id })
  })

  it('a code is exchanged once: a replay answers invalid_grant and revokes its tokens', async () => {
    const begun = await begin(client)
    const returned = await decideDialog(service, dialogAddress(begun.parameters))
    const tokens = await exchange(returned, begun)
    await allSettled(service)
    await expect(exchange(returned, begun)).rejects.toMatchObject({ status: 400, error: 'invalid_grant' })
    await service.context.grantCache.pull()
    expect((await askMe(service, tokens.access_token)).status).toBe(401)
  })

  it('a pushed request is answered 201 with a reference that opens the dialog', async () => {
    const begun = await begin(client)
    const response = await oauth.pushedAuthorizationRequest(server, client, proof, begun.parameters, HTTP)
    const pushed = await oauth.processPushedAuthorizationResponse(server, client, response)
    expect(pushed).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:/),
      expires_in: 90,
    })
    const address = dialogAddress({ client_id: client.client_id, request_uri: pushed.request_uri })
    expect(await exchange(await decideDialog(service, address), begun)).toMatchObject(TOKENS)
  })

  it('a token set is refreshed, and the new one is valid', async () => {
    const renewed = await refresh((await authorize()).refresh_token)
    expect(renewed).toMatchObject(TOKENS)
    expect(await refresh(renewed.refresh_token)).toMatchObject(TOKENS)
    expect((await askMe(service, renewed.access_token)).status).toBe(200)
  })

  it('a device polls: authorization_pending, slow_down, then tokens, then invalid_grant', async () => {
    const code = await requestDevice()
    expect(code).toEqual({
      device_code: expect.stringMatching(/^lkd_/),
      user_code: expect.stringMatching(/^\d{9,}$/),
      verification_uri: `${service.config.publicUrl}/activate`,
      expires_in: 600,
      interval: 1,
    })
    await expect(poll(code.device_code)).rejects.toMatchObject({ status: 400, error: 'authorization_pending' })
    await expect(poll(code.device_code)).rejects.toMatchObject({ status: 400, error: 'slow_down' })
    await decideDevice(service, code)
    const tokens = await poll(code.device_code)
    expect(tokens).toMatchObject(TOKENS)
    expect((await askMe(service, tokens.access_token)).body.application).toBe(client.client_id)
    await expect(poll(code.device_code)).rejects.toMatchObject({ status: 400, error: 'invalid_grant' })
  })

  it('a device gets access_denied when the user rejects', async () => {
    const code = await requestDevice()
    await decideDevice(service, code, 'cancel')
    await expect(poll(code.device_code)).rejects.toMatchObject({ status: 400, error: 'access_denied' })
  })

  it('a token is active until it is revoked', async () => {
    const { access_token } = await authorize()
    const [by, byProof] =
      method === 'none'
        ? [{ client_id: resourceServer.id }, proving('client_secret_basic', resourceServer.secret)]
        : [client, proof]
    const introspect = async () => {
      const response = await oauth.introspectionRequest(server, by, byProof, access_token, HTTP)
      return oauth.processIntrospectionResponse(server, by, response)
    }
    expect(await introspect()).toMatchObject({ active: true, scope: SCOPE, client_id: client.client_id })
    const revoked = await oauth.revocationRequest(server, client, proof, access_token, HTTP)
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined()
    await service.context.grantCache.pull()
    expect(await introspect()).toEqual({ active: false })
  })

  it('a rejection returns access_denied, with state and issuer', async () => {
    const begun = await begin(client)
    const returned = await decideDialog(service, dialogAddress(begun.parameters), 'cancel')
    expect(() => oauth.validateAuthResponse(server, client, returned, begun.state)).toThrow(
      expect.objectContaining({ name: 'AuthorizationResponseError', error: 'access_denied' }),
    )
  })

  it('a dialog without state returns without one', async () => {
    const { parameters } = await begin(client)
    const { state: _, ...stateless } = parameters
    const returned = await decideDialog(service, dialogAddress(stateless))
    const checked = oauth.validateAuthResponse(server, client, returned, oauth.expectNoState)
    expect([...checked.keys()]).toEqual(['code', 'iss'])
  })
})

it('a public application may not introspect', async () => {
  const client = { client_id: (await makeClient(service, 'none')).id }
  const response = await oauth.introspectionRequest(server, client, oauth.None(), 'lka_x', HTTP)
  await expect(oauth.processIntrospectionResponse(server, client, response)).rejects.toMatchObject({
    name: 'WWWAuthenticateChallengeError',
    status: 401,
  })
})
