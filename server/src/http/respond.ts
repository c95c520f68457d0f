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
  const body = refused ? refusalBody(format, answer.refusal, answer.message) : write(format, answer.fields)
  const afterwards = answer.whenSent && sent(response).then(answer.whenSent)
  const headers: OutgoingHttpHeaders = {
    'content-type': CONTENT_TYPES[format],
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }
  if (answer.retryAfterSeconds !== undefined) headers['retry-after'] = String(answer.retryAfterSeconds)
  if (answer.allow !== undefined) headers.allow = answer.allow
  response.writeHead(refused ? refusals[answer.refusal].status : answer.status, headers).end(body)
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

/** A refusal with the table's own text is the same bytes every time, so it is written once. */
const prepared = { json: new Map<RefusalCode, string>(), xml: new Map<RefusalCode, string>() }

function refusalBody(format: Format, code: RefusalCode, message: string | undefined): string {
  if (message !== undefined) return write(format, { error: code, message })
  const known = prepared[format].get(code)
  if (known !== undefined) return known
  const body = write(format, { error: code, message: refusals[code].message })
  prepared[format].set(code, body)
  return body
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
