/** Body reader: accepts a URL-encoded or multipart form, or JSON where a route says so, in UTF-8 and of limited size. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../core/refusal.ts'
import type { Form, Part } from './parameters.ts'

/** Largest form, in API requests and on pages of the base host. The JSON bodies of the management API may be larger. */
export const MAX_BODY_BYTES = 16 * 1024

const URL_ENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'

/** Which bodies a route accepts. */
export type BodyRules = {
  readonly maxBytes: number
  /** Size of multipart forms; null: they are not accepted. */
  readonly maxMultipartBytes: number | null
  readonly maxFields: number
}

/** Returns undefined rather than a promise if there is no body. */
export function readForm(
  request: IncomingMessage,
  { maxBytes, maxMultipartBytes, maxFields }: BodyRules,
): Promise<Form> | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type = '' } = request.headers
  // An empty body is accepted with any content type: all parameters may be in the query.
  if (encoding === undefined && (length === undefined || length === '0')) return undefined
  const multipart = kindOf(type) === MULTIPART
  const max = multipart ? maxMultipartBytes : maxBytes
  if (max === null) throw new Refusal('unsupported_media_type')
  if (Number(length) > max) throw new Refusal('payload_too_large')
  return collect(request, max).then((bytes) =>
    multipart ? { bytes, parts: readParts(bytes, type, maxFields) ?? 'unreadable' } : { bytes, parts: null },
  )
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

/** Longer than any part of a form needs. */
const MAX_HEADER_BYTES = 1024

const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))/i
const DISPOSITION = /^content-disposition:[ \t]*form-data[ \t]*(;.*)$/im
const PARAMETER = /;[ \t]*([\w*-]+)=(?:"([^"]*)"|([^\s";]+))[ \t]*/y

/**
 * Reads multipart/form-data (RFC 7578). Anybody may send it, so the search for the boundary is all that takes long: at
 * most one part more than `max` is returned, and a header is short. Null: the form cannot be read.
 */
function readParts(body: Buffer, contentType: string, max: number): readonly Part[] | null {
  const [, quoted, plain = quoted] = BOUNDARY.exec(contentType) ?? []
  if (plain === undefined) return null
  const delimiter = Buffer.from(`\r\n--${plain}`)
  const parts: Part[] = []
  // The first delimiter needs no line before it.
  let at = body.indexOf(delimiter.subarray(2)) === 0 ? -2 : body.indexOf(delimiter)
  while (at !== -1 && parts.length <= max) {
    const start = at + delimiter.length
    if (body.toString('latin1', start, start + 2) === '--') return parts
    const blank = body.subarray(0, start + MAX_HEADER_BYTES).indexOf('\r\n\r\n', start)
    const header = blank === -1 ? null : readHeader(body.toString('utf8', start, blank))
    if (!header) return null
    at = body.indexOf(delimiter, blank + 4)
    if (at !== -1) parts.push({ ...header, bytes: body.subarray(blank + 4, at) })
  }
  return at === -1 ? null : parts
}

function readHeader(header: string): Pick<Part, 'name' | 'isFile'> | null {
  const parameters = new Map<string, string>()
  const text = /^[ \t]*\r\n/.test(header) ? (DISPOSITION.exec(header)?.[1] ?? '') : ''
  PARAMETER.lastIndex = 0
  for (let found = PARAMETER.exec(text); found; found = PARAMETER.exec(text)) {
    const [, name = '', quoted, plain = ''] = found
    parameters.set(name.toLowerCase(), quoted ?? plain)
  }
  const name = parameters.get('name')
  if (name === undefined || name.includes('\uFFFD')) return null
  return { name: unescaped(name), isFile: parameters.has('filename') || parameters.has('filename*') }
}

/** As browsers write names: HTML, "multipart/form-data encoding algorithm". */
function unescaped(name: string): string {
  return name.replace(/%(22|0D|0A)/gi, (encoded) => decodeURIComponent(encoded))
}
