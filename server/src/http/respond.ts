/**
 * The only writer of answers: successes and refusals, JSON and XML, and the headers that every one of them has.
 *
 * `http/` is the wire: which door, which dialect, which words. It reads a request, calls one flow and dresses the outcome;
 * it decides nothing.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type RefusalCode, refusals } from '../core/refusal.ts'
import type { Answer, Fields, Format } from './answer.ts'

const CONTENT_TYPES = { json: 'application/json; charset=utf-8', xml: 'application/xml; charset=utf-8' } as const

/** Returns what happens after the answer was sent, for those who must not stop before it is done. */
export function respond(response: ServerResponse, format: Format, answer: Answer): Promise<void> | undefined {
  const refused = 'refusal' in answer
  const { text, bytes } = refused ? refusalBody(format, answer.refusal, answer.message) : body(format, answer.fields)
  const afterwards = answer.whenSent && sent(response).then(answer.whenSent)
  const headers: OutgoingHttpHeaders = {
    'content-type': CONTENT_TYPES[format],
    'content-length': bytes,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }
  if (answer.retryAfterSeconds !== undefined) headers['retry-after'] = String(answer.retryAfterSeconds)
  if (answer.allow !== undefined) headers.allow = answer.allow
  if (answer.wwwAuthenticate !== undefined) headers['www-authenticate'] = answer.wwwAuthenticate
  // What is left of a body that was not read is not waited for.
  if (refused && UNREAD.includes(answer.refusal)) headers.connection = 'close'
  response.writeHead(refused ? refusals[answer.refusal].status : answer.status, headers).end(text)
  return afterwards
}

/**
 * `finish`: the last byte was handed to the operating system. `close` without it: the client was gone before. What happens
 * on the network after `finish` nobody can know; docs/interface.md, "Delivery", says so.
 */
function sent(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    response.once('finish', () => resolve(true))
    response.once('close', () => resolve(response.writableFinished))
  })
}

const UNREAD: readonly RefusalCode[] = ['payload_too_large', 'unsupported_media_type']

type Body = { readonly text: string; readonly bytes: number }

function body(format: Format, fields: Fields): Body {
  const text = write(format, fields)
  return { text, bytes: Buffer.byteLength(text) }
}

/** A refusal with the table's own text is the same bytes every time, so it is written once. */
const prepared = { json: new Map<RefusalCode, Body>(), xml: new Map<RefusalCode, Body>() }

function refusalBody(format: Format, code: RefusalCode, message: string | undefined): Body {
  if (message !== undefined) return body(format, { error: code, message })
  const known = prepared[format].get(code)
  if (known) return known
  const made = body(format, { error: code, message: refusals[code].message })
  prepared[format].set(code, made)
  return made
}

export function write(format: Format, fields: Fields): string {
  return format === 'json' ? JSON.stringify(fields) : writeXml(fields)
}

/** The same fields, under <response>. Values were checked at the door to hold only what XML can carry (core/state-text.ts). */
function writeXml(fields: Fields): string {
  const elements = Object.entries(fields).map(([name, value]) => `<${name}>${escapeXml(String(value))}</${name}>`)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<response>${elements.join('')}</response>`
}

/** A bare carriage return would be read back as a line feed (XML 1.0, section 2.11). */
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;' }

function escapeXml(text: string): string {
  return text.replace(/[&<>"\r]/g, (character) => ESCAPES[character] ?? character)
}
