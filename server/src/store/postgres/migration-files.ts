/**
 * Migration files and their directives. A directive is a line of its own:
 *
 *   -- latchkey: no-transaction            each statement by itself, for `create index concurrently` and the like;
 *                                          a statement ends with a semicolon at the end of a line
 *   -- latchkey: batches of grants by id   the only statement, for 250 rows at a time, from $1 to $2
 */
import { readdir, readFile } from 'node:fs/promises'

export const MIGRATIONS_FOLDER = new URL('../../../migrations/', import.meta.url)

/** Rows that a file in batches walks through, by an indexed key. */
export type Batches = { readonly table: string; readonly key: string }

export type Migration = {
  readonly name: string
  readonly sql: string
  readonly runs: 'in a transaction' | 'statement by statement' | Batches
}

export async function listMigrations(folder: URL): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
}

export async function readMigration(name: string, folder: URL): Promise<Migration> {
  const sql = await readFile(new URL(name, folder), 'utf8')
  return { name, sql, runs: readDirective(name, sql) }
}

const DIRECTIVE = /^-- latchkey: (.*)/m
const BATCHES = /^batches of (?<table>\w+) by (?<key>\w+)$/

function readDirective(name: string, sql: string): Migration['runs'] {
  const directive = DIRECTIVE.exec(sql)?.[1]
  if (directive === undefined) return 'in a transaction'
  if (directive === 'no-transaction') return 'statement by statement'
  const { table, key } = BATCHES.exec(directive)?.groups ?? {}
  if (table && key) return { table, key }
  throw new Error(`migration ${name} has an unknown directive: ${directive}`)
}
