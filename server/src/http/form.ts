/** Body reader: accepts a URL-encoded or multipart form, or JSON where a route says so, in UTF-8 and of limited size. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../core/refusal.ts'
import type { Form } from './parameters.ts'

/** Largest form, in API requests and on pages of the base host. The JSON bodies of the management API may be larger. */
export const MAX_BODY_BYTES = 16 * 1024

const URL_ENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'

/** Returns undefined rather than a promise if there is no body. */
export function readForm(request: IncomingMessage, max: number): Promise<Form> | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type = '' } = request.headers
  // An empty body is accepted with any content type: all parameters may be in the query.
  if (encoding === undefined && (length === undefined || length === '0')) return undefined
  if (Number(length) > max) throw new Refusal('payload_too_large')
  const multipart = kindOf(type) === MULTIPART
  return collect(request, max).then((bytes) => (multipart ? readParts(bytes, type) : { bytes, parts: null }))
}

const JSON_TYPE = /^application\/(?:json|scim\+json)(?:\s*;\s*charset="?utf-8"?)?$/i

/** Reads a JSON body; `parts` is always null. The body is parsed only when a handler asks for it. */
export function readJson(request: IncomingMessage, max: number): Promise<Form> | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type = '' } = request.headers
  if (encoding === undefined && (length === undefined || length === '0')) return undefined
  if (Number(length) > max) throw new Refusal('payload_too_large')
  if (!JSON_TYPE.test(type.trim())) {
    throw new Refusal('unsupported_media_type', 'Send the body as application/json, in UTF-8.')
  }
  return collect(request, max).then((bytes) => ({ bytes, parts: null }))
}

async function readParts(bytes: Buffer, contentType: string): Promise<Form> {
  const body = new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } })
  return { bytes, parts: await body.formData().catch(() => 'unreadable' as const) }
}

const UTF_8 = /^\s*charset\s*=\s*(?:utf-?8|"utf-?8")\s*$/i

/** Matches the exact media type. Parameters may follow; every charset among them must be UTF-8. */
function kindOf(type: string): typeof URL_ENCODED | typeof MULTIPART {
  if (type === URL_ENCODED) return URL_ENCODED
  const [name = '', ...parameters] = type.split(';')
  const kind = [URL_ENCODED, MULTIPART].find((each) => each === name.trimEnd().toLowerCase())
  const charsets = parameters.filter((each) => /^\s*charset\s*=/i.test(each))
  if (!kind || charsets.some((each) => !UTF_8.test(each))) throw new Refusal('unsupported_media_type')
  return kind as typeof URL_ENCODED | typeof MULTIPART
}

/** Nearly every form arrives in one chunk, which is used without copying. */
function collect(request: IncomingMessage, max: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length <= max) return
      request.off('data', onData).resume()
      reject(new Refusal('payload_too_large'))
    }
    request.on('data', onData)
    // Once, at the end: with a copy per chunk, a body in chunks of one byte would block the process for seconds.
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)))
    // The client disconnected while sending; it will not receive the response.
    request.on('error', () => reject(new Refusal('invalid_request')))
  })
}
