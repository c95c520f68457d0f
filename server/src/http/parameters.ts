/**
 * Parameters of a request: query and form together, as text. docs/interface.md, "Parameters".
 *
 * A name given twice, anywhere, is rejected: two layers may disagree on which value counts, which lets an attacker
 * bypass one of them. Bytes that are not UTF-8 are rejected rather than repaired, because `state` is echoed exactly.
 * Only the value of `grant_type` may be anything, because the contract ignores it; one that cannot be decoded counts as
 * empty.
 */
import { isUtf8 } from 'node:buffer'
import { Refusal } from '../core/refusal.ts'

export type FormFields = ReadonlyMap<string, string>

/** A body as form.ts reads it; parsed only when a handler asks for parameters. `parts`: null if it is not multipart. */
export type Form = { readonly bytes: Buffer; readonly parts: FormData | 'unreadable' | null }

export const MAX_PARAMETERS = 50

const IGNORED = 'grant_type'

/** Throws a Refusal. `file`: the multipart field that may hold a file (readFile); its value here is empty. */
export function readParameters(
  query: string,
  form: Form | undefined,
  max = MAX_PARAMETERS,
  file: string | null = null,
): FormFields {
  const parameters = new Map<string, string>()
  addPairs(parameters, query, max)
  if (!form) return parameters
  if (form.parts === null) addPairs(parameters, textOf(form.bytes), max)
  else addParts(parameters, form, max, file)
  return parameters
}

/** Reads the file in a multipart form. Null if there is none: browsers send an empty one if none was chosen. */
export async function readFile(form: Form | undefined, name: string): Promise<Buffer | null> {
  const value = form?.parts instanceof FormData ? form.parts.get(name) : null
  return value instanceof File && value.size > 0 ? Buffer.from(await value.arrayBuffer()) : null
}

/** Decodes a form. If it is not valid UTF-8, tries again without the value of `grant_type`, which is ignored. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  const rest = bytes.toString('latin1').replace(/(^|&)grant_type=[^&]*/g, '$1grant_type=')
  const readable = Buffer.from(rest, 'latin1')
  if (!isUtf8(readable)) throw unreadable()
  return readable.toString()
}

function addPairs(parameters: Map<string, string>, text: string, max: number): void {
  if (text === '') return
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : pair.slice(equals + 1)
    add(parameters, name, name === IGNORED ? decodeIgnored(value) : decode(value), max)
  }
}

function addParts(parameters: Map<string, string>, { parts, bytes }: Form, max: number, file: string | null): void {
  if (!(parts instanceof FormData)) throw unreadable()
  const exact = isUtf8(bytes)
  for (const [name, value] of parts) {
    if (typeof value !== 'string' && name !== file) throw new Refusal('invalid_request', 'Files are not accepted.')
    const text = typeof value === 'string' ? value : ''
    // The multipart parser replaces invalid UTF-8 by U+FFFD.
    if (!exact && (name.includes('\uFFFD') || (name !== IGNORED && text.includes('\uFFFD')))) throw unreadable()
    add(parameters, name, text, max)
  }
}

function add(parameters: Map<string, string>, name: string, value: string, max: number): void {
  if (parameters.has(name)) throw new Refusal('invalid_request', 'A parameter is given twice; give each name once.')
  if (parameters.size >= max) throw new Refusal('invalid_request', 'There are too many parameters.')
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

function decodeIgnored(text: string): string {
  try {
    return decode(text)
  } catch {
    return ''
  }
}

function unreadable(): Refusal {
  return new Refusal('invalid_request', 'The parameters cannot be read: they are not form-encoded UTF-8.')
}
