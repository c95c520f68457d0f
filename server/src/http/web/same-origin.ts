/**
 * Did this form come from a page of this very account? SameSite cookies do not tell: accounts are siblings on one site, so
 * their cookies travel with each other's forms. The browser's own word does (Fetch, sections 3.2 and 3.8).
 */
import type { IncomingHttpHeaders } from 'node:http'

/** Every browser of today says one or the other with a form; what says neither is not a browser with a page of ours. */
export function isSameOrigin(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  if (headers.origin !== undefined) return headers.origin === origin
  return site === 'same-origin'
}
