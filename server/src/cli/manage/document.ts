/** The file of `latchkey apply`: YAML, read by a closed table of members. Every problem is named with its line. */
import { readFileSync } from 'node:fs'
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseDocument } from 'yaml'
import type { Configuration, Path, Problem } from '../../core/manage/configuration.ts'
import { CommandRefused } from '../client/output.ts'

type Members = { readonly [name: string]: Shape }

type Shape =
  | { readonly is: 'text' | 'text_or_null' | 'boolean' | 'texts'; readonly required?: true }
  /** Names chosen by whoever writes the file, each with these members. */
  | { readonly is: 'named'; readonly of: Members }

const SCOPE: Members = {
  title: { is: 'text', required: true },
  dangerous: { is: 'boolean' },
  device_flow: { is: 'boolean' },
}

const ROLE: Members = { scopes: { is: 'texts', required: true } }

const APPLICATION: Members = {
  allowed_scopes: { is: 'texts', required: true },
  default_scopes: { is: 'texts' },
  required_scopes: { is: 'texts' },
  device_flow: { is: 'boolean' },
  redirect_uris: { is: 'texts' },
  public: { is: 'boolean' },
  pkce_required: { is: 'boolean' },
  resource_server: { is: 'boolean' },
}

const ACCOUNT: Members = {
  name: { is: 'text', required: true },
  external_id: { is: 'text_or_null' },
  roles: { is: 'named', of: ROLE },
  applications: { is: 'named', of: APPLICATION },
}

const FILE: Members = { scopes: { is: 'named', of: SCOPE }, accounts: { is: 'named', of: ACCOUNT } }

export type ConfigurationFile = {
  readonly configuration: Configuration
  /** All of them in one error, each with file and line. */
  refuse(problems: readonly Problem[]): CommandRefused
}

/** Throws a CommandRefused that lists every problem of the file. */
export function readConfigurationFile(file: string): ConfigurationFile {
  const lines = new LineCounter()
  const document = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false })
  const refuse = (problems: readonly Problem[]) =>
    refused(problems.map(({ path, message }) => ({ line: lineOf(document, lines, path), message: at(path, message) })))
  const refused = (found: readonly { line: number; message: string }[]) =>
    new CommandRefused(found.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'))
  if (document.errors.length > 0)
    throw refused(document.errors.map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, message })))
  const problems: Problem[] = []
  const configuration = readMembers(document, document.contents, FILE, [], problems) as Configuration
  if (problems.length > 0) throw refuse(problems)
  return { configuration, refuse }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandRefused(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? error}.`)
  }
}

const at = (path: Path, message: string) => (path.length === 0 ? message : `${path.join(', ')}: ${message}`)

/** Line of the key that a path ends with, or of the last one on the way to it. */
function lineOf(document: Document, lines: LineCounter, path: Path): number {
  let [node, start]: [unknown, number] = [document.contents, 0]
  for (const name of path) {
    const pair = pairsOf(document, node).find((each) => nameOf(each) === name)
    if (!pair) break
    if (isScalar(pair.key)) start = pair.key.range?.[0] ?? start
    node = pair.value
  }
  return lines.linePos(start).line || 1
}

function pairsOf(document: Document, given: unknown): readonly Pair[] {
  const node = resolve(document, given)
  return isMap(node) ? node.items : []
}

const resolve = (document: Document, node: unknown) => (isAlias(node) ? node.resolve(document) : node)

/** A name such as 2024 is a number for YAML; it stays as it is written. */
function nameOf({ key }: Pair): string {
  if (!isScalar(key)) return String(key)
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
}

function readMembers(document: Document, given: unknown, members: Members, path: Path, problems: Problem[]): unknown {
  const node = resolve(document, given)
  const allowed = Object.keys(members).join(', ')
  if (!isMap(node)) {
    problems.push({ path, message: `This has to have members. Allowed: ${allowed}.` })
    return {}
  }
  const read = node.items.map((pair): readonly [string, unknown] => {
    const name = nameOf(pair)
    const shape = Object.hasOwn(members, name) ? members[name] : undefined
    if (!shape) problems.push({ path: [...path, name], message: `There is no such member. Allowed: ${allowed}.` })
    return [name, shape && readShape(document, pair.value, shape, [...path, name], problems)]
  })
  const missing = Object.entries(members).filter(
    ([name, shape]) => 'required' in shape && !read.some(([given]) => given === name),
  )
  problems.push(...missing.map(([name]) => ({ path, message: `The member ${name} is missing.` })))
  return Object.fromEntries(read)
}

const EXPECTED = {
  text: 'a text; put it in quotes if it looks like something else',
  text_or_null: 'a text or null; put it in quotes if it looks like something else',
  boolean: 'true or false',
  texts: 'a list of texts, for example [orders:read, orders:write]',
}

function readShape(document: Document, given: unknown, shape: Shape, path: Path, problems: Problem[]): unknown {
  const node = resolve(document, given)
  if (shape.is === 'named') {
    // A section without a name in it: "roles: {}" or nothing after the colon.
    if (isScalar(node) && node.value === null) return {}
    if (!isMap(node)) {
      problems.push({
        path,
        message: `This has to have names, each with members. Allowed: ${Object.keys(shape.of).join(', ')}.`,
      })
      return {}
    }
    const read = node.items.map((pair) => {
      const name = nameOf(pair)
      return [name, readMembers(document, pair.value, shape.of, [...path, name], problems)]
    })
    return Object.fromEntries(read)
  }
  const value = isSeq(node) ? node.items.map((item) => (isScalar(item) ? item.value : null)) : scalarOf(node)
  if (!isOf(shape.is, value)) problems.push({ path, message: `This has to be ${EXPECTED[shape.is]}.` })
  return value
}

const scalarOf = (node: unknown): unknown => (isScalar(node) ? node.value : undefined)

function isOf(shape: keyof typeof EXPECTED, value: unknown): boolean {
  switch (shape) {
    case 'text':
      return typeof value === 'string'
    case 'text_or_null':
      return typeof value === 'string' || value === null
    case 'boolean':
      return typeof value === 'boolean'
    case 'texts':
      return Array.isArray(value) && value.every((each) => typeof each === 'string')
  }
}
