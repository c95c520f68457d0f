/** Requests and responses of the fake: same statuses, error codes and headers as the service, but its own messages. */

const REFUSALS = {
  auth_pending: [400, 'The user has not yet processed the code.'],
  slow_down: [400, 'Polling is faster than the interval allows.'],
  auth_expired: [400, 'The code expired before the user authorized it.'],
  auth_rejected: [400, 'The user rejected the application.'],
  invalid: [400, 'The code is not valid: it was already used, or the request does not match it.'],
  invalid_request: [400, 'A parameter is missing, given twice or unreadable.'],
  invalid_scope: [400, 'The scope is unknown or not allowed for this application.'],
  invalid_grant: [400, 'The code, token or key is invalid, expired or revoked, or was issued to another application.'],
  invalid_application: [401, 'Unknown application id or wrong secret.'],
  invalid_credential: [401, 'The credential is missing or no longer valid.'],
  insufficient_scope: [403, 'The credential does not have the scope that this request requires.'],
  application_suspended: [403, 'The application is suspended pending review.'],
  device_flow_disabled: [403, 'The device flow is not enabled for this application.'],
  unsupported_grant_type: [400, 'The grant_type is not supported.'],
  not_found: [404, 'There is no resource at this path.'],
  method_not_allowed: [405, 'The method is not allowed for this path.'],
  unsupported_media_type: [415, 'Send parameters as a form.'],
  unavailable: [503, 'The service is temporarily unavailable.'],
} as const

export type FakeRefusal = keyof typeof REFUSALS

export type FakeFields = Readonly<Record<string, string | number | boolean>>

/** A response before serialization: the fields of a success, or the reason of a refusal. */
export type FakeAnswer = (
  | { readonly fields: FakeFields }
  | { readonly refusal: FakeRefusal }
  /** A success without a body: headers only. */
  | { readonly bare: true }
) & { readonly headers?: Readonly<Record<string, string>> }

/** Thrown to refuse a request; turned into a response in one place (fake-routes.ts). */
export class FakeRefused extends Error {
  readonly answer: FakeAnswer

  constructor(refusal: FakeRefusal, headers: Readonly<Record<string, string>> = {}) {
    super(refusal)
    this.answer = { refusal, headers }
  }
}

/** Error codes of the standard dialect, for routes below /oauth/. */
const STANDARD: Partial<Record<FakeRefusal, string>> = {
  auth_pending: 'authorization_pending',
  auth_expired: 'expired_token',
  auth_rejected: 'access_denied',
  invalid: 'invalid_grant',
  invalid_application: 'invalid_client',
  application_suspended: 'unauthorized_client',
  device_flow_disabled: 'unauthorized_client',
  unavailable: 'temporarily_unavailable',
}

export function writeAnswer(answer: FakeAnswer, dialect: 'native' | 'standard'): Response {
  const headers = { 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' }
  if ('bare' in answer) return new Response(null, { headers: { ...headers, ...answer.headers } })
  const typed = { 'content-type': 'application/json; charset=utf-8', ...headers, ...answer.headers }
  if ('fields' in answer) return new Response(JSON.stringify(answer.fields), { headers: typed })
  const [status, message] = REFUSALS[answer.refusal]
  if (dialect === 'native') {
    return new Response(JSON.stringify({ error: answer.refusal, message }), { status, headers: typed })
  }
  const body = { error: STANDARD[answer.refusal] ?? answer.refusal, error_description: message }
  // RFC 6749, section 5.2, defines 400, and 401 for failed client authentication.
  return new Response(JSON.stringify(body), { status: status === 403 ? 400 : status, headers: typed })
}

export type FakeParameters = ReadonlyMap<string, string>

/**
 * Reads query and form parameters. A name in `known` may be repeated with equal values, and other names in any way.
 * Null: no name may be repeated.
 */
export async function readParameters(request: Request, known: readonly string[] | null): Promise<FakeParameters> {
  const parameters = new Map<string, string>()
  const pairs = [...new URL(request.url).searchParams]
  const body = await request.clone().text()
  if (body !== '') {
    const type = request.headers.get('content-type') ?? ''
    if (/^multipart\/form-data/i.test(type)) {
      for (const [name, value] of await request.formData()) pairs.push([name, String(value)])
    } else if (/^application\/x-www-form-urlencoded/i.test(type)) pairs.push(...new URLSearchParams(body))
    else throw new FakeRefused('unsupported_media_type')
  }
  for (const [name, value] of pairs) {
    const before = parameters.get(name)
    const accepted = before === undefined || (known && (before === value || !known.includes(name)))
    if (!accepted) throw new FakeRefused('invalid_request')
    parameters.set(name, before ?? value)
  }
  return parameters
}

/** An empty parameter counts as missing. */
export function required(parameters: FakeParameters, name: string): string {
  const value = parameters.get(name)
  if (value) return value
  throw new FakeRefused('invalid_request')
}

export function parseScope(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]
}
