/** Brings the schema to this version: numbered files, forward only, each in its own transaction, under one advisory lock. */
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { type Queryable, tellAwayFromWrong } from './postgres.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

/** Any number, as long as nothing else in the database uses it: "latchkey migrations". */
const MIGRATION_LOCK = 7_018_001

/** Applies what is missing and returns the names of what it applied. Safe to run from every process at once. */
export async function migrate(url: string): Promise<readonly string[]> {
  // Its own connection: a migration may take longer than any statement of the running service is allowed to.
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect().catch(tellAwayFromWrong)
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    // Not before: waiting for another runner is fine, keeping the running service waiting for a table is not.
    await client.query("set lock_timeout = '10s'")
    await client.query('create table if not exists migrations (name text primary key, applied_at timestamptz not null)')
    const missing = await missingMigrations(client)
    for (const name of missing) await apply(client, name)
    return missing
  } finally {
    await client.end()
  }
}

async function apply(client: pg.Client, name: string): Promise<void> {
  const sql = await readFile(new URL(name, FOLDER), 'utf8')
  await client.query('begin')
  try {
    // First the row, so that a second runner, however it came here, collides before it changes anything.
    await client.query('insert into migrations (name, applied_at) values ($1, now())', [name])
    await client.query(sql)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}

async function missingMigrations(client: { query: pg.Client['query'] }): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const applied = new Set(rows.map((row) => row.name))
  return (await knownMigrations()).filter((name) => !applied.has(name))
}

async function knownMigrations(): Promise<readonly string[]> {
  return (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort()
}

export type SchemaState = {
  /** The last that was applied. */
  readonly newest: string | null
  readonly missing: readonly string[]
  /** Applied by a newer program than this one. */
  readonly unknown: readonly string[]
}

/** For a process that runs already: whether what it started with still holds. */
export async function readSchemaState(db: Queryable): Promise<SchemaState> {
  const { rows } = await db.query<{ name: string }>('select name from migrations order by name')
  const applied = rows.map((row) => row.name)
  const known = await knownMigrations()
  return {
    newest: applied.at(-1) ?? null,
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  }
}

/** What `migrate` would apply. A database that was never migrated lacks everything. */
export async function pendingMigrations(url: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect().catch(tellAwayFromWrong)
  try {
    const { rows } = await client.query<{ exists: boolean }>("select to_regclass('migrations') is not null as exists")
    if (!rows[0]?.exists) await client.query('create temporary table migrations (name text)')
    return await missingMigrations(client)
  } finally {
    await client.end()
  }
}
