/**
 * Response writer for all program routes: successes and refusals, JSON and XML, and the headers common to all of them.
 *
 * `http/` is the transport layer: routing, dialects, formats. A handler reads a request, calls one flow and formats its
 * outcome; it makes no decisions.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type RefusalCode, refusals, type ScimType } from '../core/refusal.ts'
import type { Answer, Fields, Format } from './answer.ts'
import type { SecurityHeaders } from './security-headers.ts'

const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  standard: 'application/json; charset=utf-8',
  manage: 'application/json; charset=utf-8',
  scim: 'application/scim+json; charset=utf-8',
} as const

/** Returns a promise for the work after the response was sent (`whenSent`), so that shutdown can wait for it. */
export function respond(
  response: ServerResponse,
  requestId: string,
  format: Format,
  answer: Answer,
  security: SecurityHeaders,
): Promise<void> | undefined {
  const refused = 'refusal' in answer
  const { text, bytes } = bodyOf(format, answer)
  // As many bytes as characters: ASCII, which Node writes without transcoding if told so.
  const encoding = bytes === text.length ? 'latin1' : 'utf8'
  const afterwards = answer.whenSent && sent(response).then(answer.whenSent)
  const headers: OutgoingHttpHeaders = {
    ...security,
    'content-length': bytes,
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'x-request-id': requestId,
  }
  if (bytes > 0) headers['content-type'] = 'type' in answer ? answer.type : CONTENT_TYPES[format]
  if ('headers' in answer) Object.assign(headers, answer.headers)
  if (answer.retryAfterSeconds !== undefined) headers['retry-after'] = String(answer.retryAfterSeconds)
  if (answer.held !== undefined) headers['preference-applied'] = `wait=${answer.held.maxSeconds}`
  if (answer.allow !== undefined) headers.allow = answer.allow
  if (answer.wwwAuthenticate !== undefined) headers['www-authenticate'] = answer.wwwAuthenticate
  if (answer.allowOrigin !== undefined) {
    headers['access-control-allow-origin'] = answer.allowOrigin
    headers['access-control-expose-headers'] = 'retry-after, x-request-id'
    headers.vary = 'origin'
  }
  // An unauthenticated client is told how to authenticate (RFC 6749, section 5.2, and RFC 9110, section 15.5.2).
  if (format === 'standard' && refused && answer.refusal === 'invalid_application') {
    headers['www-authenticate'] = 'Basic realm="latchkey"'
  }
  // The body was not read to its end: close the connection instead of waiting for the rest.
  if (refused && BODY_NOT_READ.includes(answer.refusal)) headers.connection = 'close'
  response.writeHead(refused ? statusOf(format, answer.refusal) : answer.status, headers).end(text, encoding)
  return afterwards
}

const NO_BODY: Body = { text: '', bytes: 0 }

function bodyOf(format: Format, answer: Answer): Body {
  if ('refusal' in answer) return refusalBody(format, answer.refusal, answer.message, answer.scimType ?? null)
  if ('fields' in answer) return body(format, answer.fields)
  if ('json' in answer) return answer.json === null ? NO_BODY : textBody(JSON.stringify(answer.json))
  return 'text' in answer ? textBody(answer.text) : NO_BODY
}

/** RFC 6749, section 5.2, defines 400, and 401 for failed client authentication; there is no 403. */
function statusOf(format: Format, code: RefusalCode): number {
  const { status } = refusals[code]
  return format === 'standard' && status === 403 ? 400 : status
}

/**
 * `finish`: the last byte was handed to the operating system. `close` without it: the client disconnected before.
 * Whether the bytes arrive after `finish` cannot be known; see docs/interface/device-flow.md, "Delivery".
 */
function sent(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true))
    response.once('close', () => resolve(response.writableFinished))
  })
}

const BODY_NOT_READ: readonly RefusalCode[] = ['payload_too_large', 'unsupported_media_type']

type Body = { readonly text: string; readonly bytes: number }

function body(format: Format, fields: Fields): Body {
  return textBody(write(format, fields))
}

function textBody(text: string): Body {
  return { text, bytes: Buffer.byteLength(text) }
}

/** Cache of refusal bodies: a refusal with the default message is always the same bytes. */
const prepared = {
  json: new Map<RefusalCode, Body>(),
  xml: new Map<RefusalCode, Body>(),
  standard: new Map<RefusalCode, Body>(),
  manage: new Map<RefusalCode, Body>(),
  scim: new Map<RefusalCode, Body>(),
}

function refusalBody(format: Format, code: RefusalCode, message: string | undefined, scimType: ScimType | null): Body {
  if (message !== undefined) return body(format, refusalFields(format, code, message, scimType))
  const known = prepared[format].get(code)
  if (known) return known
  const made = body(format, refusalFields(format, code, refusals[code].message, scimType))
  prepared[format].set(code, made)
  return made
}

function refusalFields(format: Format, code: RefusalCode, message: string, scimType: ScimType | null): Fields {
  const { standard, status, remedy } = refusals[code]
  // Required for 400 (RFC 7644, section 3.12): most of ours are about a value.
  const type = scimType ?? (code === 'invalid_request' ? 'invalidValue' : null)
  switch (format) {
    case 'standard':
      return { error: standard, error_description: message }
    case 'manage':
      return { error: code, message, remedy }
    case 'scim':
      return {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
        status: String(status),
        ...(type === null ? {} : { scimType: type }),
        detail: message,
      }
    default:
      return { error: code, message }
  }
}

export function write(format: Format, fields: Fields): string {
  return format === 'xml' ? writeXml(fields) : JSON.stringify(fields)
}

/**
 * The same fields as in JSON, under <response>. Parameters were validated to hold only characters that XML allows
 * (core/dialog/state.ts).
 */
function writeXml(fields: Fields): string {
  const elements = Object.entries(fields).map(([name, value]) => `<${name}>${escapeXml(String(value))}</${name}>`)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<response>${elements.join('')}</response>`
}

/** A bare carriage return is escaped because an XML parser would read it as a line feed (XML 1.0, section 2.11). */
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;' }

function escapeXml(text: string): string {
  return text.replace(/[&<>"\r]/g, (character) => ESCAPES[character] ?? character)
}
