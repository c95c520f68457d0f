/**
 * Parameters of a request, read once: query and form together, as text. docs/interface.md, "Parameters".
 *
 * A name given twice, anywhere, is refused: where two layers disagree on which one counts, somebody gets through between
 * them. Bytes that are not UTF-8 are refused rather than mended, because `state` is echoed exactly.
 */
import { isUtf8 } from 'node:buffer'
import { Refusal } from '../core/refusal.ts'

export type Parameters = ReadonlyMap<string, string>

/** The body as the content type parsers leave it: unread until a handler asks. */
export type Form = { readonly bytes: Buffer; readonly multipart: string | null }

const MOST_PARAMETERS = 50

/** Throws a Refusal. Only a multipart form takes a moment to read. */
export function readParameters(
  query: string,
  form: Form | undefined,
  most = MOST_PARAMETERS,
): Parameters | Promise<Parameters> {
  const parameters = new Map<string, string>()
  addPairs(parameters, query, most)
  if (!form) return parameters
  if (!isUtf8(form.bytes)) throw unreadable()
  if (form.multipart !== null) return addParts(parameters, form.bytes, form.multipart, most)
  addPairs(parameters, form.bytes.toString(), most)
  return parameters
}

function addPairs(parameters: Map<string, string>, text: string, most: number): void {
  if (text === '') return
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    if (equals === -1) add(parameters, decode(pair), '', most)
    else add(parameters, decode(pair.slice(0, equals)), decode(pair.slice(equals + 1)), most)
  }
}

/** Fields only: a file has no place in any request of ours. */
async function addParts(
  parameters: Map<string, string>,
  bytes: Buffer,
  contentType: string,
  most: number,
): Promise<Parameters> {
  const headers = { 'content-type': contentType }
  const form = await new Response(new Uint8Array(bytes), { headers }).formData().catch(() => {
    throw unreadable()
  })
  for (const [name, value] of form) {
    if (typeof value !== 'string') throw new Refusal('invalid_request', 'Files are not accepted.')
    add(parameters, name, value, most)
  }
  return parameters
}

function add(parameters: Map<string, string>, name: string, value: string, most: number): void {
  if (parameters.has(name)) throw new Refusal('invalid_request', 'A parameter is given twice; give each name once.')
  if (parameters.size >= most) throw new Refusal('invalid_request', 'There are too many parameters.')
  parameters.set(name, value)
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw unreadable()
  }
}

function unreadable(): Refusal {
  return new Refusal('invalid_request', 'The parameters cannot be read: they are not form-encoded UTF-8.')
}

/** A parameter that the request cannot do without. An empty one is as good as none. */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value) return value
  throw new Refusal('invalid_request', `The parameter ${name} is missing.`)
}
