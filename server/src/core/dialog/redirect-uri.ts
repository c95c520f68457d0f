/**
 * Redirect URIs: validation, comparison and use. A URI is registered in exactly one spelling, its WHATWG serialisation,
 * and compared with `===`, so that no two parsers can disagree about its host (RFC 9700, section 4.1). Only the port of
 * a loopback URI may differ (docs/history.md#0043).
 */

const MAX_REDIRECT_LENGTH = 2000

/** Few enough for an operator to read all of them in a review. */
export const MAX_REDIRECTS = 10

/** The only hosts that may use http: the request does not leave the machine (RFC 8252, section 7.3). */
const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

const LOOPBACK_URI = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=\/)/

/**
 * Host name syntax of DNS. A URL allows more, such as `;` and quotes, and the host ends up in a
 * Content-Security-Policy.
 */
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const HOST = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9a-f:]+\\])$`)
const MAX_HOST_LENGTH = 253

/** For path and query RFC 3986 allows less than WHATWG serialises: no `|`, no brackets, no stray percent sign. */
const PATH_AND_QUERY = /^(?:[\w:/?@!$&'()+,;=.~-]|%[0-9A-Fa-f]{2})*$/

/** Parameters of the authorization response: none of them may occur twice (RFC 6749, section 3.1). */
const RESPONSE_PARAMETERS: readonly string[] = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri']

export type RedirectProblem =
  | 'too_long'
  | 'not_an_address'
  | 'scheme'
  | 'userinfo'
  | 'fragment'
  | 'wildcard'
  | 'host'
  | 'not_canonical'
  | 'characters'
  | 'query'

/** Null: the URI may be registered. */
export function redirectProblem(text: string): RedirectProblem | null {
  if (text.length > MAX_REDIRECT_LENGTH) return 'too_long'
  const url = URL.parse(text)
  if (!url) return 'not_an_address'
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.includes(url.hostname))) return 'scheme'
  if (url.username !== '' || url.password !== '') return 'userinfo'
  if (text.includes('#')) return 'fragment'
  if (text.includes('*')) return 'wildcard'
  if (!HOST.test(url.hostname) || url.hostname.length > MAX_HOST_LENGTH) return 'host'
  if (url.href !== text) return 'not_canonical'
  if (!PATH_AND_QUERY.test(url.pathname + url.search)) return 'characters'
  return RESPONSE_PARAMETERS.some((name) => url.searchParams.has(name)) ? 'query' : null
}

/** True for http to the machine itself. Any program on that machine can listen there, so PKCE is required. */
export function isLoopbackRedirect(uri: string): boolean {
  return LOOPBACK_URI.test(uri)
}

/**
 * A native application listens on a port that the operating system chose, so the port of a loopback URI is not compared
 * (RFC 8252, section 7.3). Everything else is, and a request must use the one spelling that could be registered.
 */
export function isRegisteredRedirect(registered: readonly string[], requested: string): boolean {
  if (registered.includes(requested)) return true
  if (!isLoopbackRedirect(requested) || redirectProblem(requested) !== null) return false
  const wanted = withoutPort(requested)
  return registered.some((uri) => isLoopbackRedirect(uri) && withoutPort(uri) === wanted)
}

function withoutPort(loopbackUri: string): string {
  return loopbackUri.replace(LOOPBACK_URI, 'http://$1')
}

/** For headers that name an origin (`form-action`, CORS). */
export function redirectOrigin(uri: string): string {
  return new URL(uri).origin
}

/**
 * For display, with the port if there is one. Other scripts stay `xn--…`, which cannot be confused with another name.
 */
export function redirectHost(uri: string): string {
  return new URL(uri).host
}

/**
 * Appends the form-urlencoded response parameters; an existing query stays unchanged (RFC 6749, sections 3.1.2 and
 * 4.1.2). Does not use `URL`, which would re-encode the query.
 */
export function withResponseParameters(uri: string, parameters: Readonly<Record<string, string>>): string {
  const answer = new URLSearchParams(parameters).toString()
  if (answer === '') return uri
  if (!uri.includes('?')) return `${uri}?${answer}`
  const open = uri.endsWith('&') || uri.indexOf('?') === uri.length - 1
  return `${uri}${open ? '' : '&'}${answer}`
}
