/**
 * OpenID Connect with the identity provider of an account, by `openid-client` and `jose`. Every request goes through the
 * guarded client: whatever a discovery document names is as untrusted as what an administrator types.
 */
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose'
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  clockSkew,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  genericGrantRequest,
  ResponseBodyError,
  type ServerMetadata,
} from 'openid-client'
import type { ProviderProblem } from '../../core/provider/provider.ts'
import { type FetchFailure, type Outbound, UNCONNECTED } from '../../outbound.ts'
import { createProviderBudgets, limitPerIssuer, type ProviderBudgets } from './request-limits.ts'

const LIMITS = { maxBytes: 256 * 1024, timeoutMs: 5_000 }
const KEPT_MS = 10 * 60_000
/** A provider that fails is not asked again at once. */
const FAILURE_KEPT_MS = 5_000
const MAX_KEPT = 1_000
/** Accepted difference between the provider's clock and PostgreSQL's. */
export const CLOCK_TOLERANCE_SECONDS = 10

/** Asymmetric: whoever can verify an ID token cannot sign one. */
export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

export type Client = { readonly issuer: string; readonly clientId: string; readonly clientSecret: string }

export type Failed = { readonly outcome: 'failed'; readonly problem: ProviderProblem; readonly reason: string }

export type Keys = ReturnType<typeof createRemoteJWKSet>

type Found = {
  readonly outcome: 'found'
  /** As the provider spells it. */
  readonly issuer: string
  readonly metadata: ServerMetadata
  readonly keys: Keys
}

export type Opened = {
  readonly outcome: 'opened'
  readonly configuration: Configuration
  /** Why requests of this configuration failed, in order. */
  readonly failures: readonly FetchFailure[]
}

export type Providers = {
  readonly budgets: ProviderBudgets
  /** `now`: PostgreSQL's. */
  open(client: Client, now: number): Promise<Opened | Failed>
  /** Keys of the issuer, for a logout token. */
  keysOf(issuer: string): Promise<Pick<Found, 'outcome' | 'issuer' | 'keys'> | Failed>
  /** Reads everything anew and lets the provider check the client. Null: nothing is wrong. */
  test(client: Client, redirectUri: string, now: number): Promise<ProviderProblem | null>
  /** What is wrong with the address, as far as can be told without a request. */
  problemWith(issuer: string): ProviderProblem | null
}

export function createProviders(unlimited: Outbound): Providers {
  const outboundTo = limitPerIssuer(unlimited)
  const kept = new Map<string, { readonly found: Promise<Found | Failed>; readonly until: number }>()

  const find = async (issuer: string): Promise<Found | Failed> => {
    const known = kept.get(issuer)
    if (known && known.until > performance.now()) return known.found
    kept.delete(issuer)
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    const found = discover(outboundTo(issuer), issuer)
    kept.set(issuer, { found, until: performance.now() + KEPT_MS })
    if ((await found).outcome === 'failed') kept.set(issuer, { found, until: performance.now() + FAILURE_KEPT_MS })
    return found
  }

  const open = async (client: Client, now: number): Promise<Opened | Failed> => {
    const found = await find(client.issuer)
    return found.outcome === 'failed' ? found : configure(outboundTo(client.issuer), found.metadata, client, now)
  }

  return {
    budgets: createProviderBudgets(),
    open,
    keysOf: find,
    problemWith: (issuer) => issuerProblem(unlimited, issuer),
    test: async (client, redirectUri, now) => {
      kept.delete(client.issuer)
      const opened = await open(client, now)
      if (opened.outcome === 'failed') return opened.problem
      return (await keysProblem(outboundTo(client.issuer), client.issuer, opened)) ?? clientProblem(opened, redirectUri)
    },
  }
}

/**
 * openid-client reads the discovery document at a path below the issuer. Given the address of the document itself, it
 * would not compare the issuer, so such an address is refused.
 */
function issuerProblem(outbound: Outbound, issuer: string): ProviderProblem | null {
  const problem = outbound.problemWith(issuer)
  if (problem === 'scheme') return 'not_https'
  if (problem === 'private') return 'private'
  return problem !== null || /[?#]|\/\.well-known\//.test(issuer) ? 'address' : null
}

async function discover(outbound: Outbound, issuer: string): Promise<Found | Failed> {
  const problem = issuerProblem(outbound, issuer)
  if (problem) return failed(problem, 'the issuer is no address to connect to')
  const failures: FetchFailure[] = []
  const options = { [customFetch]: guarded(outbound, failures), execute: insecure(issuer), timeout: 10 }
  try {
    const metadata = (await discovery(new URL(issuer), 'none', undefined, undefined, options)).serverMetadata()
    const unfit = metadataProblem(outbound, issuer, metadata)
    if (unfit) return failed(unfit, 'the discovery document does not fit')
    const { jwks_uri = '' } = metadata
    const keys = createRemoteJWKSet(new URL(jwks_uri), {
      [joseFetch]: guarded(outbound, []) as typeof fetch,
      cacheMaxAge: KEPT_MS,
      cooldownDuration: 60_000,
    })
    return { outcome: 'found', issuer: metadata.issuer, metadata, keys }
  } catch (error) {
    return failed(discoveryProblem(failures, error), reasonOf(error))
  }
}

/** Only addresses on this machine may do without TLS, and only if the configuration allows private ones (outbound.ts). */
function insecure(issuer: string): ((configuration: Configuration) => void)[] {
  return issuer.startsWith('http:') ? [allowInsecureRequests] : []
}

const ADDRESSES = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

function metadataProblem(outbound: Outbound, issuer: string, metadata: ServerMetadata): ProviderProblem | null {
  // openid-client makes exceptions for some issuers whose document is one for all of their customers.
  if (URL.parse(metadata.issuer)?.href !== new URL(issuer).href) return 'issuer_mismatch'
  if (ADDRESSES.some((name) => outbound.problemWith(metadata[name] ?? '') !== null)) return 'endpoint'
  const userinfo = metadata.userinfo_endpoint
  if (userinfo !== undefined && outbound.problemWith(userinfo) !== null) return 'endpoint'
  if (metadata.response_types_supported && !metadata.response_types_supported.includes('code')) return 'no_code_flow'
  const pkce = metadata.code_challenge_methods_supported
  if (pkce && !pkce.includes('S256')) return 'no_code_flow'
  const algorithms = metadata.id_token_signing_alg_values_supported ?? ['RS256']
  if (!algorithms.some((each) => ALGORITHMS.includes(each))) return 'no_algorithm'
  return authenticationOf(metadata) === null ? 'no_client_auth' : null
}

/** `client_secret_basic` is the default (OpenID Connect Discovery 1.0, section 3). */
function authenticationOf({
  token_endpoint_auth_methods_supported: methods = ['client_secret_basic'],
}: ServerMetadata) {
  if (methods.includes('client_secret_basic')) return ClientSecretBasic
  return methods.includes('client_secret_post') ? ClientSecretPost : null
}

/** One for each sign-in: it holds the difference between this machine's clock and PostgreSQL's. */
function configure(outbound: Outbound, metadata: ServerMetadata, client: Client, now: number): Opened | Failed {
  const authentication = authenticationOf(metadata)
  if (!authentication) return failed('no_client_auth', 'no method of client authentication')
  const failures: FetchFailure[] = []
  const about = {
    [clockSkew]: Math.round((now - Date.now()) / 1000),
    [clockTolerance]: CLOCK_TOLERANCE_SECONDS,
  }
  const configuration = new Configuration(metadata, client.clientId, about, authentication(client.clientSecret))
  configuration[customFetch] = guarded(outbound, failures)
  configuration.timeout = 10
  for (const allow of insecure(client.issuer)) allow(configuration)
  enableNonRepudiationChecks(configuration)
  return { outcome: 'opened', configuration, failures }
}

/** Keeps why a request failed: the error that it throws arrives wrapped. */
function guarded(outbound: Outbound, failures: FetchFailure[]): CustomFetch {
  return async (url, { method, headers, body }) => {
    const text = body === undefined || body === null ? null : String(body)
    const given = Object.fromEntries(new Headers(headers))
    const fetched = await outbound.fetch(
      url,
      { method: method === 'POST' ? 'POST' : 'GET', headers: given, body: text },
      LIMITS,
    )
    if ('error' in fetched) {
      failures.push(fetched.error)
      throw new Error(fetched.error)
    }
    const { status, type } = fetched
    const hasBody = status !== 204 && status !== 205 && status !== 304
    return new Response(hasBody ? new Uint8Array(fetched.body) : null, { status, headers: { 'content-type': type } })
  }
}

/** What is wrong if a request failed. Before a connection exists, all failures are one. */
function fetchProblem(failure: FetchFailure): ProviderProblem {
  if (failure === 'too_large' || failure === 'busy') return failure
  if (failure === 'timeout') return 'slow'
  if (failure === 'tls') return 'certificate'
  if (failure === 'broken' || UNCONNECTED.some((each) => each === failure)) return 'unreachable'
  return 'endpoint'
}

function discoveryProblem([failure]: readonly FetchFailure[], error: unknown): ProviderProblem {
  if (failure) return fetchProblem(failure)
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return 'issuer_mismatch'
  return code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' ? 'no_document' : 'malformed'
}

async function keysProblem(outbound: Outbound, issuer: string, opened: Opened): Promise<ProviderProblem | null> {
  const failures: FetchFailure[] = []
  const { jwks_uri = issuer } = opened.configuration.serverMetadata()
  const keys = createRemoteJWKSet(new URL(jwks_uri), { [joseFetch]: guarded(outbound, failures) as typeof fetch })
  try {
    await keys.reload()
    return (keys.jwks()?.keys.length ?? 0) > 0 ? null : 'no_keys'
  } catch {
    const [failure] = failures
    return failure ? fetchProblem(failure) : 'no_keys'
  }
}

/** Asks for tokens with a code that does not exist: a provider that knows the client answers `invalid_grant`. */
async function clientProblem(
  { configuration, failures }: Opened,
  redirectUri: string,
): Promise<ProviderProblem | null> {
  const code = { code: 'connection-test', redirect_uri: redirectUri, code_verifier: 'connection-test'.repeat(3) }
  try {
    await genericGrantRequest(configuration, 'authorization_code', code)
    return 'malformed'
  } catch (error) {
    if (error instanceof ResponseBodyError) {
      return error.error === 'invalid_grant' || error.error === 'invalid_request' ? null : 'client_refused'
    }
    const [failure] = failures
    return failure ? fetchProblem(failure) : 'malformed'
  }
}

function failed(problem: ProviderProblem, reason: string): Failed {
  return { outcome: 'failed', problem, reason }
}

/** For the log: messages of the libraries, which contain no token. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error'
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
