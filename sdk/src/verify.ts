/**
 * Verifier for resource servers: whether a credential is valid now, whose it is, and its scopes. Uses introspection
 * (RFC 7662) and caches the result for some seconds. docs/interface/credentials.md, "Check a credential".
 */
import { type CallOptions, unlessAborted } from './abort.ts'
import { type Clock, systemClock } from './clock.ts'
import { scopeList, seconds, text, type Variant } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import { refused } from './refusal.ts'
import { type Answer, createWire } from './wire.ts'

export interface VerifierOptions {
  /** Base URL of the service, its `PUBLIC_URL`. */
  readonly baseUrl: string
  /** Id of the resource server, `app_…`, from `latchkey app create --resource-server`. */
  readonly resourceId: string
  readonly resourceSecret: string
  /**
   * Seconds for which a result is cached: default 10, at most 30. A revoked credential is accepted here for that long.
   */
  readonly cacheSeconds?: number | undefined
  /** Allows plain http to a service on another machine: everybody on the way can read the secret. */
  readonly allowInsecureRequests?: boolean | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly clock?: Clock | undefined
}

/** A credential that is valid now. */
export interface VerifiedCredential {
  /** The account's slug. */
  readonly account: string
  /** The user's id, `usr_…`. */
  readonly user: string
  /** The account's id at the operator's own service; null if it has none. */
  readonly accountExternalId: string | null
  /** The user's id at the operator's own service; null if they have none. */
  readonly userExternalId: string | null
  /** The application's id, `app_…`. */
  readonly application: string
  /** The grant's id, `grt_…`, as in webhooks. Can be logged: it is no part of the credential. */
  readonly grant: string
  readonly scope: readonly string[]
  readonly variant: Variant
  /** Expiry in epoch milliseconds; null for an access key, which does not expire. */
  readonly expiresAt: number | null
}

export interface Verifier {
  /**
   * Null if the credential is not valid, for whatever reason. Throws if it could not be checked: never treat that as
   * valid.
   */
  verify(credential: string, options?: CallOptions): Promise<VerifiedCredential | null>
}

const DEFAULT_CACHE_SECONDS = 10
const MAX_CACHE_SECONDS = 30
/** Negative results are cached shorter: the cause may be temporary. */
const NEGATIVE_CACHE_MS = 3_000
const MAX_CACHED = 10_000
/** Negative results have a cache of their own, so that made-up credentials do not evict valid ones. */
const MAX_NEGATIVE_CACHED = 1_000
const TIME_LIMIT_MS = 5_000

/** Text in any other form is rejected without a request. docs/interface/credentials.md, "Credentials". */
const CREDENTIAL = /^lk[ak]_[A-Za-z0-9_-]{20,200}$/

/**
 * Creates a verifier for an API: it asks the service what a credential may do.
 *
 * @example Reject what is not valid
 * ```ts
 * import { createVerifier } from '@latchkey/sdk'
 *
 * const verifier = createVerifier({
 *   baseUrl: 'https://service.example',
 *   resourceId: 'app_k49jr2r5kvxb',
 *   resourceSecret: process.env.LATCHKEY_RESOURCE_SECRET ?? '',
 * })
 * const credential = await verifier.verify('lka_made-up-by-somebody-else')
 * console.log(credential?.scope.includes('orders:read') ? `orders of ${credential.user}` : 'not allowed')
 * ```
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { clock = systemClock, resourceId, resourceSecret, cacheSeconds = DEFAULT_CACHE_SECONDS } = options
  if (!resourceId || !resourceSecret) {
    throw new LatchkeyError('invalid_request', { message: 'resourceId and resourceSecret are needed.' })
  }
  if (!(cacheSeconds >= 0 && cacheSeconds <= MAX_CACHE_SECONDS)) {
    throw new LatchkeyError('invalid_request', { message: `cacheSeconds is from 0 to ${MAX_CACHE_SECONDS}.` })
  }
  const wire = createWire({ ...options, clock })
  const validCredentials = createExpiringCache<VerifiedCredential>(MAX_CACHED, clock)
  const invalidCredentials = createExpiringCache<true>(MAX_NEGATIVE_CACHED, clock)
  const asking = new Map<string, Promise<VerifiedCredential | null>>()

  async function ask(credential: string): Promise<VerifiedCredential | null> {
    const askedAt = clock.now()
    const form = { client_id: resourceId, client_secret: resourceSecret, token: credential }
    const answer = await wire.ask('/oauth/introspect', { form, timeLimitMs: TIME_LIMIT_MS })
    const verified = readVerified(answer, form)
    // Counted from the request: a revocation after it cannot be in the response.
    const until = askedAt + cacheSeconds * 1000
    if (verified) validCredentials.set(credential, verified, Math.min(until, verified.expiresAt ?? until))
    else invalidCredentials.set(credential, true, askedAt + Math.min(NEGATIVE_CACHE_MS, cacheSeconds * 1000))
    return verified
  }

  async function verify(credential: string): Promise<VerifiedCredential | null> {
    if (!CREDENTIAL.test(credential)) return null
    const known = validCredentials.get(credential)
    if (known) return known
    if (invalidCredentials.get(credential)) return null
    const inFlight = asking.get(credential)
    if (inFlight) return inFlight
    const asked = ask(credential).finally(() => asking.delete(credential))
    asking.set(credential, asked)
    return asked
  }

  return { verify: (credential, { signal } = {}) => unlessAborted(() => verify(credential), signal) }
}

function readVerified(answer: Answer, form: Record<string, string>): VerifiedCredential | null {
  if (answer.status !== 200) {
    const error = refused(answer, form)
    if (error.code !== 'invalid_application') throw error
    const { code, requestId, refusal } = error
    const message = 'The service does not accept this resource server. Check resourceId and resourceSecret.'
    throw new LatchkeyError(code, { requestId, refusal, message })
  }
  if (answer.body.active === false) return null
  if (answer.body.active !== true) throw new LatchkeyError('unexpected_answer', { requestId: answer.requestId })
  const expires = answer.body.exp !== undefined
  return {
    account: text(answer, 'account'),
    user: text(answer, 'sub'),
    accountExternalId: optionalText(answer, 'account_external_id'),
    userExternalId: optionalText(answer, 'user_external_id'),
    application: text(answer, 'client_id'),
    grant: text(answer, 'grant'),
    scope: scopeList(answer.body.scope),
    variant: expires ? 'token_set' : 'access_key',
    expiresAt: expires ? seconds(answer, 'exp') * 1000 : null,
  }
}

function optionalText(answer: Answer, name: string): string | null {
  return answer.body[name] === undefined ? null : text(answer, name)
}

interface ExpiringCache<T> {
  get(key: string): T | undefined
  set(key: string, value: T, until: number): void
}

/** Cache with expiry and LRU eviction. */
function createExpiringCache<T>(max: number, clock: Clock): ExpiringCache<T> {
  const entries = new Map<string, { readonly value: T; readonly until: number }>()
  return {
    get: (key) => {
      const entry = entries.get(key)
      if (!entry) return undefined
      entries.delete(key)
      if (clock.now() >= entry.until) return undefined
      entries.set(key, entry)
      return entry.value
    },
    set: (key, value, until) => {
      if (clock.now() >= until) return
      entries.delete(key)
      entries.set(key, { value, until })
      if (entries.size <= max) return
      for (const oldest of entries.keys()) {
        entries.delete(oldest)
        break
      }
    },
  }
}
