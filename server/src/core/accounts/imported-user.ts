/** Users in a file that `latchkey import users` reads: columns, and what each of them may contain. */
import { readEmail } from '../sign-in/email.ts'
import { EXTERNAL_ID, isExternalId } from './account.ts'
import type { TextRecord } from './record-reader.ts'

export const importColumns = ['account', 'email', 'name', 'roles', 'external_id', 'password_hash'] as const

export type ImportColumn = (typeof importColumns)[number]

const REQUIRED: readonly ImportColumn[] = ['account', 'email', 'roles']

export type ImportedUser = {
  readonly line: number
  /** Slug of the account. */
  readonly account: string
  readonly email: string
  readonly name: string | null
  readonly roles: readonly string[]
  readonly externalId: string | null
  /** As another service stored it. */
  readonly passwordHash: string | null
}

export type RefusedLine = { readonly line: number; readonly reason: string }

export type ReadUser = { readonly user: ImportedUser } | { readonly refused: RefusedLine }

/** Why a CSV file with this first line cannot be imported; null: it can. */
export function problemOfColumns(columns: readonly string[]): string | null {
  const unknown = columns.filter((column) => !importColumns.some((known) => known === column))
  if (unknown.length > 0) return `There is no column "${unknown.join('", "')}". Columns: ${importColumns.join(', ')}.`
  if (new Set(columns).size < columns.length) return 'The first line names a column twice.'
  const missing = REQUIRED.filter((column) => !columns.includes(column))
  return missing.length > 0 ? `The first line does not name the column "${missing.join('", "')}".` : null
}

type Fields = Readonly<Partial<Record<ImportColumn, string | readonly string[]>>>

const refuse = (line: number, reason: string): ReadUser => ({ refused: { line, reason } })

/** Roles in one cell are separated by semicolons. */
export function readCsvUser(columns: readonly string[], { line, cells }: TextRecord): ReadUser {
  if (cells === null) return refuse(line, 'It is too long. A quotation mark may be missing.')
  if (cells.length !== columns.length) return refuse(line, `It has ${cells.length} cells instead of ${columns.length}.`)
  const fields = Object.fromEntries(columns.map((column, place) => [column, cells[place] ?? '']))
  return readFields(line, { ...fields, roles: (fields.roles ?? '').split(';') })
}

export function readJsonUser({ line, cells }: TextRecord): ReadUser {
  if (cells === null) return refuse(line, 'It is too long.')
  const fields = parseObject(cells[0] ?? '')
  if (!fields) return refuse(line, 'It is not a JSON object.')
  const unknown = Object.keys(fields).find((name) => !importColumns.some((known) => known === name))
  if (unknown !== undefined) return refuse(line, `There is no member "${unknown}".`)
  const unfit = Object.entries(fields).find(([name, value]) => !isField(name, value))
  if (unfit)
    return refuse(line, `The member "${unfit[0]}" is not ${unfit[0] === 'roles' ? 'an array of texts' : 'a text'}.`)
  return readFields(line, fields as Fields)
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return value instanceof Object && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
      : null
  } catch {
    return null
  }
}

function isField(name: string, value: unknown): boolean {
  if (name !== 'roles') return typeof value === 'string'
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function readFields(line: number, fields: Fields): ReadUser {
  const text = (column: Exclude<ImportColumn, 'roles'>) => `${fields[column] ?? ''}`.trim()
  const email = readEmail(text('email'))
  // PostgreSQL cannot store it.
  if (
    Object.values(fields)
      .flat()
      .some((each) => each.includes('\0'))
  )
    return refuse(line, 'It contains a NUL character.')
  if (text('account') === '') return refuse(line, 'It names no account.')
  if (email === null) return refuse(line, `"${text('email')}" is not an e-mail address.`)
  const roles = (fields.roles as readonly string[] | undefined)
    ?.map((role) => role.trim())
    .filter((role) => role !== '')
  if (!roles || roles.length === 0) return refuse(line, 'It names no role.')
  const [name, externalId] = [text('name'), text('external_id')]
  if (name.length > 200 || /\p{Cc}/u.test(name))
    return refuse(line, 'A name has at most 200 characters, none of them a line break.')
  if (externalId !== '' && !isExternalId(externalId)) return refuse(line, EXTERNAL_ID)
  const user = {
    ...{ line, account: text('account'), email, name: name || null, roles: [...new Set(roles)] },
    ...{ externalId: externalId || null, passwordHash: text('password_hash') || null },
  }
  return { user }
}
