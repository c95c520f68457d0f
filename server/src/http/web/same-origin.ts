/**
 * CSRF check: did this form come from a page of the same account? SameSite cookies cannot tell: accounts are subdomains
 * of one site, so cookies are sent with each other's forms. `Origin` and `Sec-Fetch-Site`, which the browser sets, can
 * (Fetch, sections 3.2 and 3.8).
 */
import type { IncomingHttpHeaders } from 'node:http'

/** Every current browser sends at least one of the two headers with a form; a request with neither is rejected. */
export function isSameOrigin(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  if (headers.origin !== undefined) return headers.origin === origin
  return site === 'same-origin'
}
