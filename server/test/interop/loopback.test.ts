/**
 * Native programs that receive the code on a loopback port (RFC 8252), with libraries unchanged from npm. The operating
 * system chooses the port; the application is registered without one.
 */
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askMe } from '../rig/connect.ts'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { decideDialog } from './person.ts'

const HOSTS = ['127.0.0.1', '[::1]', 'localhost'] as const
const SCOPE = 'orders:read'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  const { context, config, account } = service
  const redirectUris = HOSTS.map((host) => `http://${host}/callback`)
  application = await makeApplication(context.db, config, account.slug, { public: true, redirectUris })
  await context.applications.refresh()
})
afterAll(() => service.stop())

/** Listens, sends the user to the address of the library, and returns the address that the browser came back to. */
async function receive(host: string, addressFor: (redirectUri: string) => Promise<URL>): Promise<[URL, string]> {
  const listener = createServer((request, response) => {
    response.end('You can close this window.')
    listener.emit('callback', request.url)
  })
  listener.listen(0, host.replace(/[[\]]/g, ''))
  await once(listener, 'listening')
  const address = listener.address()
  if (!address || typeof address === 'string') throw new Error('the listener has no port')
  const redirectUri = `http://${host}:${address.port}/callback`
  const called = once(listener, 'callback')
  get(await decideDialog(service, await addressFor(redirectUri)))
  const [path] = await called
  listener.close()
  return [new URL(path, redirectUri), redirectUri]
}

async function withOpenidClient(host: string): Promise<string> {
  const config = await openid.discovery(new URL(service.config.publicUrl), application.id, undefined, openid.None(), {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  })
  const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()]
  const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier)
  const challenge = { code_challenge, code_challenge_method: 'S256' }
  const [returned] = await receive(host, async (redirect_uri) =>
    openid.buildAuthorizationUrl(config, { redirect_uri, scope: SCOPE, state: expectedState, ...challenge }),
  )
  const checks = { pkceCodeVerifier, expectedState }
  const first = await openid.authorizationCodeGrant(config, returned, checks)
  return (await openid.refreshTokenGrant(config, first.refresh_token ?? '')).access_token
}

async function withOauth4webapi(host: string): Promise<string> {
  const http = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(service.config.publicUrl)
  const metadata = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
  const server = await oauth.processDiscoveryResponse(issuer, metadata)
  const client = { client_id: application.id }
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
  const code_challenge = await oauth.calculatePKCECodeChallenge(verifier)
  const [returned, redirectUri] = await receive(host, async (redirect_uri) => {
    const address = new URL(server.authorization_endpoint ?? '')
    const asked = { ...client, response_type: 'code', redirect_uri, scope: SCOPE, state }
    const challenge = { code_challenge, code_challenge_method: 'S256' }
    address.search = new URLSearchParams({ ...asked, ...challenge }).toString()
    return address
  })
  const parameters = oauth.validateAuthResponse(server, client, returned, state)
  const none = oauth.None()
  const exchanged = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    none,
    parameters,
    redirectUri,
    verifier,
    http,
  )
  const first = await oauth.processAuthorizationCodeResponse(server, client, exchanged)
  const renewed = await oauth.refreshTokenGrantRequest(server, client, none, first.refresh_token ?? '', http)
  return (await oauth.processRefreshTokenResponse(server, client, renewed)).access_token
}

describe.each([
  ['openid-client', withOpenidClient],
  ['oauth4webapi', withOauth4webapi],
])('%s', (_library, signIn) => {
  it.each(HOSTS)('signs in and refreshes through a port of %s that it did not register', async (host) => {
    const { status, body } = await askMe(service, await signIn(host))
    expect([status, body]).toMatchObject([200, { application: application.id, user: service.user.id }])
  })
})
