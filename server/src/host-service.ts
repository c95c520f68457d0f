/**
 * The host service, at which users sign in: its keys, and the statements that it signs about who signed in.
 * docs/decisions/0046-users-of-the-host-service.md.
 */
import { readFile } from 'node:fs/promises'
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, importJWK, type JWTPayload, jwtVerify } from 'jose'
import { saysSecondFactor } from './core/sign-in/second-factor.ts'
import { ConfigurationError } from './setting-texts.ts'

/** Tells a statement from every other JWT that the host service signs with the same key (RFC 8725, section 3.11). */
const TYPE = 'latchkey-sign-in+jwt'
/** No shared secrets: whoever can verify a statement cannot sign one. */
const ALGORITHMS = ['EdDSA', 'ES256']
const MAX_LIFETIME_SECONDS = 60
/** Tolerated difference between the host service's clock and ours. */
export const CLOCK_TOLERANCE_SECONDS = 5
/** Far more than a statement needs, and short enough for a query parameter. */
const MAX_STATEMENT_LENGTH = 8_000

const MAX_KEY_SET_BYTES = 64 * 1024
const FETCH_TIMEOUT_MS = 5_000
const FETCH_AGAIN_MS = 60_000
const CACHED_MS = 10 * 60_000

/** What the host service states about a user. Everything is verified except the challenge, which the caller checks. */
export type Statement = {
  /** The slug. */
  readonly account: string
  readonly accountName: string | null
  readonly challenge: string
  /** Milliseconds, of the host service's clock. */
  readonly issuedAt: number
  readonly externalId: string
  readonly email: string
  readonly name: string | null
  /** Milliseconds. */
  readonly authenticatedAt: number
  readonly amr: readonly string[]
  readonly secondFactor: boolean
  /** Names. */
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
}

export type VerifiedStatement =
  | { readonly outcome: 'verified'; readonly statement: Statement }
  /** `reason`: for the log. */
  | { readonly outcome: 'invalid' | 'no_keys'; readonly reason: string }

export type HostService = {
  readonly signInUrl: string
  verify(text: string, expected: { readonly audience: string; readonly now: number }): Promise<VerifiedStatement>
}

type HostSettings = {
  readonly publicUrl: string
  readonly signInUrl: string | null
  readonly signInKeys: string | null
}

/** Null: the settings name none. Throws a ConfigurationError. */
export async function openHostService({ publicUrl, signInUrl, signInKeys }: HostSettings): Promise<HostService | null> {
  if (signInUrl === null && signInKeys === null) return null
  if (signInUrl === null) throw new ConfigurationError('SIGN_IN_KEYS is set, but SIGN_IN_URL is not. Set both or none.')
  if (signInKeys === null)
    throw new ConfigurationError('SIGN_IN_URL is set, but SIGN_IN_KEYS is not. Set both or none.')
  const address = /^https?:\/\//.test(signInKeys) ? signInKeys : null
  if (address !== null && !URL.canParse(address)) throw new ConfigurationError('SIGN_IN_KEYS is not a URL.')
  for (const [name, url] of [['SIGN_IN_URL', signInUrl] as const, ['SIGN_IN_KEYS', address] as const]) {
    if (publicUrl.startsWith('https:') && url?.startsWith('http:'))
      throw new ConfigurationError(`${name} starts with http://, but PUBLIC_URL with https://. Use https:// for both.`)
  }
  const keys = address === null ? await readKeySet(signInKeys) : fetchedKeySet(new URL(address))
  const issuer = new URL(signInUrl).origin
  return {
    signInUrl,
    verify: async (text, { audience, now }) => {
      if (text.length > MAX_STATEMENT_LENGTH) return invalid('the statement is too long')
      try {
        const { payload } = await jwtVerify(text, keys, {
          algorithms: ALGORITHMS,
          typ: TYPE,
          issuer,
          audience,
          currentDate: new Date(now),
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          maxTokenAge: MAX_LIFETIME_SECONDS,
          requiredClaims: ['exp', 'sub', 'account', 'nonce', 'email', 'auth_time'],
        })
        return read(payload)
      } catch (error) {
        const isInvalid = error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout)
        if (isInvalid) return invalid(error.message)
        return { outcome: 'no_keys', reason: error instanceof Error ? error.message : 'not an error' }
      }
    },
  }
}

function invalid(reason: string): VerifiedStatement {
  return { outcome: 'invalid', reason }
}

function read(payload: JWTPayload): VerifiedStatement {
  const { iat = 0, exp = 0, sub = '', aud, account, nonce, email, name, auth_time, account_name } = payload
  if (exp - iat > MAX_LIFETIME_SECONDS) return invalid(`"exp" is more than ${MAX_LIFETIME_SECONDS} s after "iat"`)
  const texts = [sub, account, nonce, email, name, account_name, payload.roles, payload.permissions].flat()
  // PostgreSQL cannot store it.
  if (texts.some((each) => typeof each === 'string' && each.includes('\0')))
    return invalid('a claim contains a NUL character')
  if (typeof aud !== 'string') return invalid('"aud" is a list')
  if (sub === '' || sub.length > 200) return invalid('"sub" does not have 1 to 200 characters')
  if (typeof account !== 'string') return invalid('"account" is not a text')
  if (typeof nonce !== 'string') return invalid('"nonce" is not a text')
  if (typeof email !== 'string') return invalid('"email" is not a text')
  if (typeof auth_time !== 'number' || !Number.isFinite(auth_time)) return invalid('"auth_time" is not a number')
  if (auth_time > iat + CLOCK_TOLERANCE_SECONDS) return invalid('"auth_time" is after "iat"')
  const [roles, permissions, amr] = [payload.roles, payload.permissions, payload.amr].map(namesIn)
  if (!roles || !permissions || !amr) return invalid('"roles", "permissions" or "amr" is not a list of texts')
  if (payload.roles === undefined && payload.permissions === undefined)
    return invalid('there is neither "roles" nor "permissions"')
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 200) : null)
  return {
    outcome: 'verified',
    statement: {
      account,
      accountName: text(account_name),
      challenge: nonce,
      issuedAt: iat * 1000,
      externalId: sub,
      email,
      name: text(name),
      authenticatedAt: auth_time * 1000,
      amr,
      secondFactor: saysSecondFactor(amr, payload.acr),
      roles,
      permissions,
    },
  }
}

/** Empty if absent, null if it is anything else than a list of texts. */
function namesIn(value: unknown): readonly string[] | null {
  if (value === undefined) return []
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : null
}

type KeySet = Parameters<typeof createLocalJWKSet>[0]

async function readKeySet(file: string) {
  const refuse = (reason: string): never => {
    throw new ConfigurationError(
      `SIGN_IN_KEYS cannot be used from ${file}: ${reason}. Name a JSON Web Key Set with public Ed25519 or P-256 keys.`,
    )
  }
  const text = await readFile(file, 'utf8').catch((error) => refuse((error as Error).message))
  const set = parseKeySet(text) ?? refuse('it is no JSON object with a list "keys"')
  if (set.keys.length === 0) refuse('it has no keys')
  for (const key of set.keys) {
    if (key.d !== undefined) refuse('it has a private key')
    const algorithm = key.crv === 'Ed25519' ? 'EdDSA' : key.crv === 'P-256' ? 'ES256' : null
    if (algorithm === null) refuse(`it has a key of another type (${key.kty} ${key.crv ?? ''})`)
    else await importJWK(key, algorithm).catch((error) => refuse((error as Error).message))
  }
  return createLocalJWKSet(set)
}

function parseKeySet(text: string): KeySet | null {
  try {
    const set = JSON.parse(text)
    createLocalJWKSet(set)
    return set
  } catch {
    return null
  }
}

/** While the address does not answer with a key set, the last one is used. */
function fetchedKeySet(url: URL) {
  let last: string | null = null
  return createRemoteJWKSet(url, {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: FETCH_AGAIN_MS,
    cacheMaxAge: CACHED_MS,
    [customFetch]: async (address: string, init: RequestInit) => {
      try {
        last = await fetchKeySet(address, init)
      } catch (error) {
        if (last === null) throw error
      }
      return new Response(last)
    },
  })
}

async function fetchKeySet(address: string, init: RequestInit): Promise<string> {
  const response = await fetch(address, init)
  if (response.status !== 200) throw new Error(`the key set was answered with status ${response.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_KEY_SET_BYTES) throw new Error(`the key set has more than ${MAX_KEY_SET_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  if (!parseKeySet(text)) throw new Error('the address does not answer with a JSON Web Key Set')
  return text
}
