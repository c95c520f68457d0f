/** A host service at which users sign in: its keys, and the statements that it signs. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { removeFolder } from '../../../tools/remove-folder.ts'
import type { TestDatabase } from './engines/database.ts'
import type { Page, Web } from './web.ts'

export const SIGN_IN_URL = 'http://host.example/latchkey/sign-in'

export type HostKey = {
  readonly kid: string
  readonly alg: 'EdDSA' | 'ES256'
  readonly privateKey: CryptoKey
  readonly jwk: Record<string, unknown>
}

export async function makeHostKey(alg: HostKey['alg'] = 'EdDSA'): Promise<HostKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const kid = randomUUID()
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export type TestHost = {
  readonly key: HostKey
  /** Settings of a service with these users. */
  readonly environment: Record<string, string>
  remove(): void
}

export async function makeHost(alg?: HostKey['alg']): Promise<TestHost> {
  const key = await makeHostKey(alg)
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-host-'))
  const file = join(folder, 'keys.json')
  writeFileSync(file, JSON.stringify({ keys: [key.jwk] }))
  return {
    key,
    environment: { SIGN_IN_URL, SIGN_IN_KEYS: file },
    remove: () => removeFolder(folder),
  }
}

/** Parameters with which Latchkey sends the browser to the host service. */
export type SignInRequest = { account: string; challenge: string; returnTo: URL; maxAge: string | null }

export function readSignInRequest(address: string | null, signInUrl = SIGN_IN_URL): SignInRequest {
  const url = new URL(address ?? 'none:')
  if (`${url.origin}${url.pathname}` !== signInUrl) throw new Error(`${address} is not the host service`)
  const get = (name: string) => url.searchParams.get(name) ?? ''
  return {
    account: get('account'),
    challenge: get('challenge'),
    returnTo: new URL(get('return_to')),
    maxAge: url.searchParams.get('max_age'),
  }
}

/** Claims of a good statement about the user `ada`, at the service's time. */
export async function claimsFor(
  service: { readonly database: TestDatabase },
  { account, challenge, returnTo }: SignInRequest,
): Promise<JWTPayload & { iat: number }> {
  const [row] = await service.database.query<{ now: Date }>('select now()')
  const now = Math.floor((row?.now.getTime() ?? 0) / 1000)
  return {
    iss: new URL(SIGN_IN_URL).origin,
    aud: returnTo.origin,
    sub: 'host-user-17',
    account,
    nonce: challenge,
    iat: now,
    exp: now + 60,
    email: 'ada@host.example',
    name: 'Ada',
    auth_time: now,
    amr: ['pwd', 'otp'],
    roles: ['administrator'],
  }
}

export const STATEMENT_TYPE = 'latchkey-sign-in+jwt'

export function signStatement(
  { privateKey, kid, alg }: HostKey,
  claims: JWTPayload,
  typ: string | undefined = STATEMENT_TYPE,
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid, ...(typ === '' ? {} : { typ }) }).sign(privateKey)
}

/** Path and query with which the host service sends the browser back. */
export function returnPath({ returnTo }: SignInRequest, statement: string): string {
  const back = new URL(returnTo)
  back.searchParams.set('statement', statement)
  return `${back.pathname}${back.search}`
}

/** Signs in through the host service, with some claims changed. Does not follow the redirect that comes after. */
export async function signInAtHost(
  service: { readonly database: TestDatabase },
  host: TestHost,
  web: Web,
  { claims = {}, from = '/sign-in' }: { claims?: JWTPayload; from?: string } = {},
): Promise<Page> {
  const request = readSignInRequest((await web.send('GET', from)).location)
  const given = { ...(await claimsFor(service, request)), ...claims }
  return web.send('GET', returnPath(request, await signStatement(host.key, given)))
}
