/**
 * Headers by which a browser protects an answer to a program: API, metadata, health, errors. Pages have more of them
 * (web/respond.ts).
 *
 * `same-origin` keeps other sites from embedding an answer. Pages that may read one by CORS are not affected, because
 * browsers check this header only for requests without CORS (Fetch, section 3.7).
 */

/** Two years, as OWASP ASVS requires (3.4.1). */
export const STRICT_TRANSPORT = 'max-age=63072000; includeSubDomains'

export type SecurityHeaders = Readonly<Record<string, string>>

/** Built once: a pending poll only copies them. */
export const PLAIN_HEADERS: SecurityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}
const HTTPS_HEADERS: SecurityHeaders = { ...PLAIN_HEADERS, 'strict-transport-security': STRICT_TRANSPORT }

export function securityHeaders(publicUrl: string): SecurityHeaders {
  return publicUrl.startsWith('https:') ? HTTPS_HEADERS : PLAIN_HEADERS
}
