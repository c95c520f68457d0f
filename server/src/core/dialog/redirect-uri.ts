/**
 * Redirect addresses: where a dialog may return to. One is registered in exactly one spelling, its own WHATWG serialisation,
 * and compared with `===`: then no two readers of the text can disagree about its host (RFC 9700, section 4.1).
 */

const MAX_REDIRECT_LENGTH = 2000

/** So that every way out of a dialog can be read by the one who looks the application over. */
export const MAX_REDIRECTS = 10

/** The only hosts that http leads to: nothing leaves the machine on the way there (RFC 8252, section 7.3). */
const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

/** As DNS has it. A URL may hold more, such as `;` and quotes, and the host ends up in a Content-Security-Policy. */
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const HOST = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9a-f:]+\\])$`)
const MAX_HOST_LENGTH = 253

/** Behind the host, RFC 3986 allows less than a URL serialises to: no `|`, no brackets, no stray percent sign. */
const PATH_AND_QUERY = /^(?:[\w:/?@!$&'()+,;=.~-]|%[0-9A-Fa-f]{2})*$/

/** What we answer with: none of it may come twice (RFC 6749, section 3.1). */
const ANSWERED: readonly string[] = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri']

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

/** Null for an address that may be registered. */
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
  return ANSWERED.some((name) => url.searchParams.has(name)) ? 'query' : null
}

/** For the headers that name an origin (`form-action`, CORS). */
export function redirectOrigin(uri: string): string {
  return new URL(uri).origin
}

/** For people to read, with the port where it has one. Other scripts stay `xn--…`, which looks like nothing else. */
export function redirectHost(uri: string): string {
  return new URL(uri).host
}

/**
 * The registered address with our answer behind it, form-urlencoded; a query that it has stays as it is (RFC 6749, sections
 * 3.1.2 and 4.1.2). Not by way of `URL`, which would write the query anew.
 */
export function withAnswer(uri: string, parameters: Readonly<Record<string, string>>): string {
  const answer = new URLSearchParams(parameters).toString()
  if (answer === '') return uri
  if (!uri.includes('?')) return `${uri}?${answer}`
  const open = uri.endsWith('&') || uri.indexOf('?') === uri.length - 1
  return `${uri}${open ? '' : '&'}${answer}`
}
