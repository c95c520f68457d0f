/** Response writer for all pages: status, headers, and the restrictions that the browser enforces (CSP and others). */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Asset } from '../../pages/ui/assets.ts'
import type { RefusalModel } from '../../pages/ui/refusal.tsx'
import { type SecurityHeaders, STRICT_TRANSPORT } from '../security-headers.ts'
import type { PageAnswer } from './answer.ts'
import { clearCookie, SESSION } from './cookies.ts'

const STATUS: Readonly<Record<RefusalModel['code'], number>> = {
  invalid_request: 400,
  forbidden: 403,
  elsewhere: 403,
  second_factor: 403,
  stale: 403,
  not_found: 404,
  no_account: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  server_error: 500,
  unavailable: 503,
}

export type ResponseOptions = {
  readonly requestId: string
  readonly nonce: string
  readonly secure: boolean
  /** CSP `form-action` beside our own origin; an answer's own `formTarget` replaces it. */
  readonly formTarget?: string
  /** The page is inside the window that an application opened (dialog-window.ts). */
  inDialog(): boolean
  /** Renders a refusal in the language and frame of the request. */
  refuse(code: RefusalModel['code'], detail: string | null): string
}

export function respondPage(response: ServerResponse, options: ResponseOptions, answer: PageAnswer): void {
  const headers: OutgoingHttpHeaders = pageHeaders(options, answer)
  if (answer.cookies && answer.cookies.length > 0) headers['set-cookie'] = [...answer.cookies]
  // Not "cookies": the browser stays known to its user (OWASP ASVS 14.3.1).
  if (answer.cookies?.includes(clearCookie(SESSION))) headers['clear-site-data'] = '"cache", "storage"'
  if ('seeOther' in answer) {
    response.writeHead(303, { ...headers, location: answer.seeOther, 'content-length': 0 }).end()
    return
  }
  if ('bytes' in answer) {
    headers['content-type'] = answer.type
    headers['content-length'] = answer.bytes.length
    if (answer.fileName) headers['content-disposition'] = `attachment; filename="${answer.fileName}"`
    if (answer.lasting) headers['cache-control'] = 'private, max-age=31536000, immutable'
    response.writeHead(200, headers).end(answer.bytes)
    return
  }
  const refused = 'refusal' in answer
  const status = refused ? STATUS[answer.refusal] : (answer.status ?? 200)
  const text = refused ? options.refuse(answer.refusal, answer.detail ?? null) : answer.page
  const retryAfter = answer.retryAfterSeconds ?? (status === 503 ? 2 : undefined)
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
  if (refused && answer.allow) headers.allow = answer.allow
  if (answer.continueAt !== undefined) headers.refresh = `0; url=${answer.continueAt}`
  // The form was not read to its end: close the connection instead of waiting for the rest.
  if (status === 413) headers.connection = 'close'
  headers['content-type'] = 'text/html; charset=utf-8'
  headers['content-length'] = Buffer.byteLength(text)
  response.writeHead(status, headers).end(text)
}

function pageHeaders(
  { requestId, nonce, secure, inDialog, formTarget: usualTarget }: ResponseOptions,
  { formTarget = usualTarget, fetches }: PageAnswer,
): OutgoingHttpHeaders {
  return {
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "img-src 'self'",
      ...(fetches ? ["connect-src 'self'"] : []),
      // Chromium applies form-action to the redirect after a form as well.
      formTarget === undefined ? "form-action 'self'" : `form-action 'self' ${formTarget}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
    'cross-origin-opener-policy': inDialog() ? 'unsafe-none' : 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    // Not `no-referrer`: with it browsers send `Origin: null` with our own forms, and same-origin.ts needs the origin.
    'referrer-policy': 'same-origin',
    ...(secure ? { 'strict-transport-security': STRICT_TRANSPORT } : {}),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-request-id': requestId,
  }
}

/** A file whose path contains a digest of its content, so browsers may cache it for good. */
type StaticFile = Pick<Asset, 'path' | 'contentType' | 'bytes'> & Partial<Asset>

export function respondAsset(
  request: IncomingMessage,
  response: ServerResponse,
  asset: StaticFile,
  requestId: string,
  security: SecurityHeaders,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD', 'content-length': 0, 'x-request-id': requestId, ...security }).end()
    return
  }
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const { brotli, gzip } = asset
  const [encoding, bytes] =
    brotli && /\bbr\b/.test(accepted)
      ? (['br', brotli] as const)
      : gzip && /\bgzip\b/.test(accepted)
        ? (['gzip', gzip] as const)
        : ([null, asset.bytes] as const)
  response
    .writeHead(200, {
      'content-type': asset.contentType,
      'content-length': bytes.length,
      ...(encoding ? { 'content-encoding': encoding } : {}),
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      'x-request-id': requestId,
      ...security,
    })
    .end(bytes)
}
