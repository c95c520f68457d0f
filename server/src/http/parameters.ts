/**
 * Parameters of a request: query and form together, as text. docs/interface.md, "Parameters".
 *
 * A name never has two values: two layers may disagree on which one counts, which lets an attacker bypass one of them.
 * Bytes that are not UTF-8 are rejected rather than repaired, because `state` is echoed exactly. Only the value of
 * `grant_type` may be anything, because the contract ignores it; one that cannot be decoded counts as empty.
 */
import { isUtf8 } from 'node:buffer'
import { Refusal } from '../core/refusal.ts'

export type FormFields = ReadonlyMap<string, string>

/** A part of a multipart form. */
export type Part = { readonly name: string; readonly isFile: boolean; readonly bytes: Buffer }

/** A body as form.ts reads it; parsed only when a handler asks for parameters. `parts`: null if it is not multipart. */
export type Form = { readonly bytes: Buffer; readonly parts: readonly Part[] | 'unreadable' | null }

export const MAX_PARAMETERS = 50

export type ParameterRules = {
  /** Repetitions count as well. */
  readonly max: number
  /** The multipart field that may hold a file (fileOf); its value here is empty. */
  readonly file: string | null
  /**
   * Whether the endpoint reads a parameter. Such a parameter may be repeated with equal values, and any other one in any
   * way, because nothing reads it. Null: no name may be repeated.
   */
  readonly isRead: ((name: string) => boolean) | null
}

const STRICT: ParameterRules = { max: MAX_PARAMETERS, file: null, isRead: null }

/** Empty pairs included. Splitting stops here: nobody is authenticated yet. */
const MAX_PAIRS = 1_000

const IGNORED = 'grant_type'

/** Throws a Refusal that names the parameter and depends on nothing but the form of the request. */
export function readParameters(query: string, form: Form | undefined, rules: Partial<ParameterRules> = {}): FormFields {
  const reading: Reading = { ...STRICT, ...rules, parameters: new Map(), count: 0 }
  addPairs(reading, query)
  if (form?.parts === 'unreadable') throw new Refusal('invalid_request', 'The multipart form cannot be read.')
  if (form?.parts) addParts(reading, form.parts)
  else if (form && isUtf8(form.bytes)) addPairs(reading, form.bytes.toString())
  else if (form) addPairs(reading, form.bytes.toString('latin1'), fromLatin1)
  return reading.parameters
}

/** The file in a multipart form. Null if there is none: browsers send an empty one if none was chosen. */
export function fileOf(form: Form | undefined, name: string): Buffer | null {
  if (!form?.parts || form.parts === 'unreadable') return null
  const file = form.parts.find((part) => part.isFile && part.name === name)
  return file && file.bytes.length > 0 ? file.bytes : null
}

type Reading = ParameterRules & { readonly parameters: Map<string, string>; count: number }

/** Decodes one pair of a form that is not UTF-8 as a whole. */
function fromLatin1(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
  if (isUtf8(bytes)) return bytes.toString()
  const [name = ''] = text.split('=', 1)
  if (name === IGNORED) return IGNORED
  throw unreadable(name)
}

function addPairs(reading: Reading, text: string, decodePair = (pair: string) => pair): void {
  if (text === '') return
  const pairs = text.split('&', MAX_PAIRS + 1)
  if (pairs.length > MAX_PAIRS) throw tooMany(reading)
  for (const encoded of pairs) {
    if (encoded === '') continue
    const pair = decodePair(encoded)
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    if (name === null) throw unreadable('')
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (value === null && name !== IGNORED) throw unreadable(name)
    add(reading, name, value ?? '')
  }
}

function addParts(reading: Reading, parts: readonly Part[]): void {
  for (const { name, isFile, bytes } of parts) {
    if (isFile && name !== reading.file) {
      throw new Refusal('invalid_request', `${called(name)} is a file; files are not accepted.`)
    }
    if (!isFile && name !== IGNORED && !isUtf8(bytes)) throw unreadable(name)
    add(reading, name, isFile ? '' : bytes.toString())
  }
}

function add(reading: Reading, name: string, value: string): void {
  const { parameters, isRead, max } = reading
  reading.count += 1
  if (reading.count > max) throw tooMany(reading)
  const before = parameters.get(name)
  if (before === undefined) parameters.set(name, value)
  else if (isRead === null) throw new Refusal('invalid_request', `${called(name)} is given twice.`)
  else if (before !== value && isRead(name)) {
    throw new Refusal('invalid_request', `${called(name)} is given twice with different values.`)
  }
}

/** Null: not UTF-8. */
function decode(text: string): string | null {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return null
  }
}

function tooMany({ max }: Reading): Refusal {
  return new Refusal('invalid_request', `There are more than ${max} parameters.`)
}

function unreadable(name: string): Refusal {
  return new Refusal('invalid_request', `${called(name)} is not form-encoded UTF-8.`)
}

/** The name in a message, if it looks like one: it may be anything, a secret without its name included. */
export function called(name: string): string {
  return /^[\w.:$[\]-]{1,32}$/.test(name) ? `The parameter ${name}` : 'A parameter'
}
