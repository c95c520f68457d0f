/**
 * An identity provider on this machine that can misbehave in every way: its documents, its ID tokens and its answers can
 * be changed. The certified one, `oidc-provider`, is in rig/certified-provider.ts.
 */
import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { Context } from '../../src/flows/context.ts'
import { saveProviderSettings, type WantedProvider } from '../../src/flows/provider/settings.ts'
import { findAccount } from '../../src/store/accounts/accounts.ts'
import { listRoles } from '../../src/store/accounts/roles.ts'
import type { Postgres } from '../../src/store/postgres/postgres.ts'
import type { HostAccount } from '../../src/store/sign-in/sessions.ts'
import { createRole } from './create.ts'
import type { TestDatabase } from './engines/database.ts'
import { makeScopes, makeUser } from './make.ts'
import type { Page, Web } from './web.ts'

export type ProviderKey = {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  readonly jwk: Record<string, unknown>
}

export async function makeProviderKey(alg = 'ES256'): Promise<ProviderKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const kid = randomUUID()
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** Of a token; undefined: left out. */
export type Claims = Record<string, unknown>

/** `typ`: empty: none. */
export function signWith({ privateKey, kid, alg }: ProviderKey, claims: Claims, typ = 'JWT'): Promise<string> {
  return new SignJWT(claims as JWTPayload).setProtectedHeader({ alg, kid, ...(typ && { typ }) }).sign(privateKey)
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void

export type TestProvider = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly key: ProviderKey
  /** Paths that were asked for. */
  readonly asked: string[]
  /** Milliseconds added to this machine's clock. */
  ahead: number
  /** Changes of the discovery document. */
  document: Record<string, unknown>
  /** In place of the answer at this path. */
  readonly instead: Map<string, Respond>
  /** Makes the ID token. */
  sign: (claims: Claims) => Promise<string>
  /** Claims of the user info. */
  userInfo: Record<string, unknown>
  now(): number
  /** The user signs in: path and query with which the browser is sent back. */
  authorize(location: string | null, claims?: Claims): string
  /** A signed logout token. */
  logoutToken(claims?: Claims, typ?: string): Promise<string>
  stop(): Promise<void>
}

export const ADA = { sub: 'ada-17', email: 'ada@corp.example', email_verified: true, name: 'Ada' }

const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export async function startProvider(): Promise<TestProvider> {
  const key = await makeProviderKey()
  const codes = new Map<string, { claims: Claims; challenge: string; redirectUri: string }>()
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', provider.issuer)
    provider.asked.push(pathname)
    const instead = provider.instead.get(pathname)
    if (instead) return instead(request, response)
    if (pathname === '/.well-known/openid-configuration') return json(response, 200, documentOf(provider))
    if (pathname === '/jwks') return json(response, 200, { keys: [key.jwk] })
    if (pathname === '/userinfo') return json(response, 200, provider.userInfo)
    if (pathname !== '/token') return json(response, 404, {})
    const form = new URLSearchParams(await text(request))
    const basic = Buffer.from(request.headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString()
    const client = basic.split(':').map(decodeURIComponent)
    if (client[0] !== provider.clientId || client[1] !== provider.clientSecret)
      return json(response, 401, { error: 'invalid_client' })
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url')
    const fits = code?.challenge === challenge && code.redirectUri === form.get('redirect_uri')
    if (!code || !fits) return json(response, 400, { error: 'invalid_grant' })
    const tokens = { access_token: 'access', token_type: 'Bearer', id_token: await provider.sign(code.claims) }
    json(response, 200, tokens)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: TestProvider = {
    issuer,
    clientId: 'latchkey',
    clientSecret: 'a-secret-of-the-provider',
    key,
    asked: [],
    ahead: 0,
    document: {},
    instead: new Map(),
    sign: (claims) => signWith(key, claims),
    userInfo: {},
    now: () => Math.floor((Date.now() + provider.ahead) / 1000),
    authorize: (location, claims = ADA) => {
      const asked = new URL(location ?? 'none:')
      const get = (name: string) => asked.searchParams.get(name) ?? ''
      const code = randomUUID()
      const now = provider.now()
      const times = { iat: now, exp: now + 300, auth_time: now }
      const known = { iss: issuer, aud: provider.clientId, nonce: get('nonce'), ...times }
      const redirectUri = get('redirect_uri')
      codes.set(code, { claims: { ...known, ...claims }, challenge: get('code_challenge'), redirectUri })
      const back = new URL(redirectUri)
      for (const [name, value] of Object.entries({ code, state: get('state'), iss: issuer })) {
        back.searchParams.set(name, value)
      }
      return `${back.pathname}${back.search}`
    },
    logoutToken: (claims = {}, typ = 'JWT') => {
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      const now = provider.now()
      const known = { iss: issuer, aud: provider.clientId, iat: now, exp: now + 120, jti: randomUUID(), events }
      return signWith(key, { ...known, sub: ADA.sub, ...claims }, typ)
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return provider
}

function documentOf({ issuer, document }: TestProvider): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256', 'HS256', 'none'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    authorization_response_iss_parameter_supported: true,
    ...document,
  }
}

/** Lets the service connect to this machine. */
export const PROVIDER_ENVIRONMENT = { OUTBOUND_PRIVATE: 'true' }

/** The account as a request sees it. */
export function asHost(
  { id, slug }: { id: string; slug: string },
  provider: HostAccount['provider'] = 'off',
): HostAccount {
  return { id, slug, name: slug, colour: null, logoVersion: null, provider, issuer: null }
}

/** A role of the account with these scopes. */
export async function makeRole(db: Postgres, slug: string, scopes: readonly string[]) {
  const name = `role ${randomUUID().slice(0, 8)}`
  await makeScopes(db, scopes)
  const made = await createRole(db, { account: slug, name, scopes })
  if (made.outcome === 'refused') throw new Error(made.reason)
  const account = await findAccount(db, slug)
  const role = (await listRoles(db, account?.id ?? '')).find((each) => each.name === name)
  return { id: role?.id ?? '', name }
}

/** What is needed of a service: here, or in processes of its own. */
type Connecting = {
  readonly context: Context
  readonly database: TestDatabase
  readonly account: { readonly id: string; readonly slug: string }
}

/** An own administrator who can sign in. */
export async function makeOwnAdministrator(service: Connecting, account = service.account) {
  const user = await makeUser(service.context.db, account.slug)
  await service.database.query("update users set password_digest = 'none' where id = $1", [user.id])
  return user
}

/** Connects the provider to the account, as one of its administrators does. */
export async function connectProvider(
  service: Connecting,
  { issuer, clientId, clientSecret }: Pick<TestProvider, 'issuer' | 'clientId' | 'clientSecret'>,
  wanted: Partial<WantedProvider> = {},
  account = service.account,
) {
  const [first, second] = [await makeOwnAdministrator(service, account), await makeOwnAdministrator(service, account)]
  const given: WantedProvider = {
    state: 'optional',
    issuer,
    clientId,
    clientSecret,
    domains: 'corp.example',
    admission: 'domain',
    defaultRole: '',
    roleClaim: '',
    roleValues: new Map(),
    breakGlass: [first.id, second.id],
    ...wanted,
  }
  const result = await saveProviderSettings(service.context, asHost(account), first.id, given, Date.now())
  if (result.outcome !== 'saved') throw new Error(`the provider was not saved: ${JSON.stringify(result)}`)
  return { administrators: [first, second] as const, given }
}

/** Signs in through the provider, with some claims changed. Does not follow the redirect that comes after. */
export async function signInAtProvider(
  provider: TestProvider,
  web: Web,
  claims: Claims = {},
  from = '/sign-in/provider',
): Promise<Page> {
  const { location } = await web.send('GET', from)
  return web.send('GET', provider.authorize(location, { ...ADA, ...claims }))
}
