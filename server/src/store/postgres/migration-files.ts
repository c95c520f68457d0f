/**
 * Migration files: their names, their directives and their statements.
 *
 * Directives are the first lines of a file, one each:
 *
 *   -- latchkey: no-transaction              each statement by itself, for `create index concurrently` and the like
 *   -- latchkey: batches of grants by id     each statement for 250 rows at a time, from $1 to $2
 *   -- latchkey: contract, expanded in 1.2.0 removes what no version since then uses (docs/operations/upgrade.md)
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { RELEASED_MIGRATIONS } from './released-migrations.ts'
import { splitStatements } from './sql-statements.ts'

export const MIGRATIONS_FOLDER = new URL('../../../migrations/', import.meta.url)

export type Batches = { readonly table: string; readonly key: string }

export type Migration = {
  readonly name: string
  readonly runs: 'in a transaction' | 'statement by statement' | 'in batches'
  /** Rows that a file in batches walks through, by an indexed key. */
  readonly batches: Batches | null
  /** Only of a contract migration. */
  readonly expandedIn: string | null
  readonly statements: readonly string[]
}

export async function listMigrations(folder: URL): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
}

/** All, in order. Throws if a file of a release was changed: databases that have applied it would differ from new ones. */
export async function readMigrations(folder: URL): Promise<readonly Migration[]> {
  return Promise.all((await listMigrations(folder)).map((name) => readMigration(name, folder)))
}

async function readMigration(name: string, folder: URL): Promise<Migration> {
  const sql = await readFile(new URL(name, folder), 'utf8')
  const released = RELEASED_MIGRATIONS[name]
  if (released !== undefined && released !== digestMigration(sql)) {
    throw new Error(`migration ${name} was released and has been changed since: restore the file of the release`)
  }
  return parseMigration(name, sql)
}

export function digestMigration(sql: string): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
}

const DIRECTIVE = /^-- latchkey: (.*?)\r?$/

const BATCHES = /^batches of (?<table>\w+) by (?<key>\w+)$/
const CONTRACT = /^contract, expanded in (?<version>\d+\.\d+\.\d+)$/

export function parseMigration(name: string, sql: string): Migration {
  const statements = splitStatements(sql)
  let migration: Migration = { name, runs: 'in a transaction', batches: null, expandedIn: null, statements }
  for (const line of sql.split('\n')) {
    const directive = DIRECTIVE.exec(line)?.[1]
    if (directive === undefined) break
    migration = { ...migration, ...readDirective(name, directive) }
  }
  return migration
}

function readDirective(name: string, directive: string): Partial<Migration> {
  if (directive === 'no-transaction') return { runs: 'statement by statement' }
  const { table, key } = BATCHES.exec(directive)?.groups ?? {}
  if (table && key) return { runs: 'in batches', batches: { table, key } }
  const { version } = CONTRACT.exec(directive)?.groups ?? {}
  if (version) return { expandedIn: version }
  throw new Error(`migration ${name} has an unknown directive: ${directive}`)
}
