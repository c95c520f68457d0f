/** Guard for any framework: reads the credential, calls the verifier, and builds the error response (RFC 6750). */
import { type ErrorCode, isLatchkeyError, LatchkeyError } from '../errors.ts'
import type { VerifiedCredential, Verifier } from '../verify.ts'

export interface RequireAuthOptions {
  /** Scopes that the credential must have, all of them. Default: any valid credential is allowed. */
  readonly scope?: readonly string[] | string | undefined
}

/** An error response, ready to be sent. */
export interface RefusedRequest {
  readonly outcome: 'refused'
  readonly status: 401 | 403 | 503
  readonly headers: Readonly<Record<string, string>>
  /** JSON text. */
  readonly body: string
}

export type GuardResult = { readonly outcome: 'allowed'; readonly credential: VerifiedCredential } | RefusedRequest

/** Decides by the `Authorization` header of a request. */
export type Guard = (authorization: string | null | undefined) => Promise<GuardResult>

/**
 * Creates a guard for a framework that has no middleware here. It throws if the credential cannot be checked because of
 * a mistake that only the developer can fix.
 *
 * @example A handler of a platform with `Request` and `Response`
 * ```ts
 * import { createGuard, createVerifier } from '@latchkey/sdk'
 *
 * const verifier = createVerifier({
 *   baseUrl: 'https://service.example',
 *   resourceId: 'app_k49jr2r5kvxb',
 *   resourceSecret: process.env.LATCHKEY_RESOURCE_SECRET ?? '',
 * })
 * const guard = createGuard(verifier, { scope: 'orders:read' })
 *
 * async function listOrders(request: Request): Promise<Response> {
 *   const checked = await guard(request.headers.get('authorization'))
 *   if (checked.outcome === 'refused') return new Response(checked.body, checked)
 *   return new Response(`orders of ${checked.credential.user}`)
 * }
 * console.log((await listOrders(new Request('https://api.example/orders'))).status)
 * ```
 */
export function createGuard(verifier: Verifier, options: RequireAuthOptions = {}): Guard {
  const needed = readScope(options.scope)
  return async (authorization) => {
    if (!authorization) return refuse(401, 'Bearer', 'invalid_credential', MISSING)
    const presented = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1]
    const credential = presented === undefined ? null : await find(verifier, presented)
    if (credential === null) return refuse(401, 'Bearer error="invalid_token"', 'invalid_credential', INVALID)
    if (credential === 'unknown') return UNAVAILABLE
    const lacking = needed.filter((name) => !credential.scope.includes(name))
    if (lacking.length === 0) return { outcome: 'allowed', credential }
    const challenge = `Bearer error="insufficient_scope", scope="${needed.join(' ')}"`
    return refuse(403, challenge, 'insufficient_scope', `The credential lacks ${lacking.join(', ')}.`)
  }
}

const MISSING = 'There is no credential. Send it as Authorization: Bearer, nowhere else.'
const INVALID =
  'The credential is not valid, or not any more. Renew it, or let the user authorize the application again.'

const UNAVAILABLE: RefusedRequest = {
  outcome: 'refused',
  status: 503,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', 'retry-after': '2' },
  body: JSON.stringify({ error: 'unavailable', message: 'The credential cannot be checked at the moment. Try again.' }),
}

/** Errors answered with 503: the service could not be asked, which is not the caller's fault. */
const TEMPORARY: readonly ErrorCode[] = ['network', 'unavailable', 'too_many_requests']

async function find(verifier: Verifier, presented: string): Promise<VerifiedCredential | null | 'unknown'> {
  try {
    return await verifier.verify(presented)
  } catch (error) {
    if (isLatchkeyError(error) && TEMPORARY.includes(error.code)) return 'unknown'
    throw error
  }
}

function refuse(status: 401 | 403, challenge: string, error: string, message: string): RefusedRequest {
  return {
    outcome: 'refused',
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'www-authenticate': challenge,
    },
    body: JSON.stringify({ error, message }),
  }
}

/** Accepts only valid scope names, because they go into a response header. docs/interface/credentials.md, "Scopes". */
function readScope(scope: readonly string[] | string = []): readonly string[] {
  const names = typeof scope === 'string' ? scope.split(/[\s,]+/).filter((name) => name !== '') : scope
  if (names.every((name) => /^[a-z0-9][a-z0-9_.:-]{0,63}$/.test(name))) return names
  throw new LatchkeyError('invalid_scope', { message: 'The option scope has something that is no scope.' })
}

const allowed = new WeakMap<object, VerifiedCredential>()

export function remember(request: object, credential: VerifiedCredential): void {
  allowed.set(request, credential)
}

/**
 * The credential of a request that passed `requireAuth`: its account, user and scopes. Throws `not_authorized` if
 * `requireAuth` did not run.
 */
export function credentialOf(request: object): VerifiedCredential {
  const credential = allowed.get(request)
  if (credential) return credential
  throw new LatchkeyError('not_authorized', { message: 'requireAuth does not stand in front of this route.' })
}
