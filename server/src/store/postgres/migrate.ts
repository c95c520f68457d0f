/**
 * Schema migrations: numbered files, forward only, each in its own transaction, under one advisory lock.
 *
 * A file whose first line is `-- latchkey: no-transaction` runs outside a transaction, statement by statement: for
 * `create index concurrently`, `validate constraint` and `detach partition concurrently`, which block neither readers
 * nor writers. If interrupted, it runs again from its beginning, so each of its statements has to be repeatable.
 * docs/decisions/0033-a-migration-may-run-outside-a-transaction.md
 */
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { MIGRATION_LOCK } from './advisory-locks.ts'
import { examineConnection } from './pooler.ts'
import { type Queryable, rethrowAsUnavailable, Unavailable } from './postgres.ts'
import { splitStatements } from './sql-statements.ts'

const FOLDER = new URL('../../../migrations/', import.meta.url)

const NO_TRANSACTION = /^-- latchkey: no-transaction\r?\n/

/**
 * Applies missing migrations and returns their names. Safe to run from several processes at once. Waits up to `waitMs` for
 * PostgreSQL, which may start at the same time.
 */
export async function migrate(url: string, folder: URL = FOLDER, waitMs = 0): Promise<readonly string[]> {
  const turn = await connectWithin(url, waitMs)
  try {
    await takeTurn(turn)
    return await migrateInTurn(url, folder)
  } finally {
    await turn.end()
  }
}

async function migrateInTurn(url: string, folder: URL): Promise<readonly string[]> {
  const client = await connect(url)
  try {
    await client.query('create table if not exists migrations (name text primary key, applied_at timestamptz not null)')
    const missing = await missingMigrations(client, folder)
    for (const name of missing) await apply(client, name, await readFile(new URL(name, folder), 'utf8'))
    return missing
  } finally {
    await client.end()
  }
}

async function connectWithin(url: string, waitMs: number): Promise<pg.Client> {
  for (const until = performance.now() + waitMs; ; await sleep(TRY_EVERY_MS)) {
    try {
      return await connect(url)
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > until) throw error
    }
  }
}

/** Own connection: a migration may take longer than the statement timeout of the service. */
async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // The query reports a broken connection as well; without a listener, the event would end the process.
  client.on('error', () => {})
  await client.connect().catch(rethrowAsUnavailable)
  return client
}

const TRY_EVERY_MS = 200

/**
 * Leaves a transaction open that holds the lock until the connection ends, and nothing else: behind a pooler, a session
 * lock would outlive the client. Polls for the lock instead of waiting in `pg_advisory_xact_lock`: a waiting statement
 * holds a snapshot, and `create index concurrently` waits for every snapshot older than the index. Two runners would
 * deadlock.
 */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    await client.query('begin; set local idle_in_transaction_session_timeout = 0')
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1) as locked', [
      MIGRATION_LOCK,
    ])
    if (rows[0]?.locked) return
    await client.query('rollback')
    await sleep(TRY_EVERY_MS)
  }
}

async function apply(client: pg.Client, name: string, sql: string): Promise<void> {
  try {
    await (NO_TRANSACTION.test(sql) ? applyOutside(client, name, sql) : applyInside(client, name, sql))
  } catch (error) {
    throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}

async function applyInside(client: pg.Client, name: string, sql: string): Promise<void> {
  await client.query('begin')
  try {
    // Waiting for another runner is fine; blocking the running service while waiting for a table lock is not.
    await client.query("set local lock_timeout = '10s'; set local statement_timeout = 0")
    // Insert the row first, so that a second runner that got past the lock fails before it changes anything.
    await recordApplied(client, name)
    await client.query(sql)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/**
 * Without a lock timeout: these statements wait for transactions that began before them, however long they take, and
 * nothing queues behind them. The row is inserted last: without it, the file runs again.
 */
async function applyOutside(client: pg.Client, name: string, sql: string): Promise<void> {
  if ((await examineConnection(client)).pooled) {
    throw new Error('it runs outside a transaction: set DATABASE_URL to PostgreSQL itself, not to a connection pooler')
  }
  await client.query('set lock_timeout = 0')
  for (const statement of splitStatements(sql)) await client.query(statement)
  await recordApplied(client, name)
}

async function recordApplied(client: pg.Client, name: string): Promise<void> {
  await client.query('insert into migrations (name, applied_at) values ($1, now())', [name])
}

async function missingMigrations(client: { query: pg.Client['query'] }, folder: URL): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const applied = new Set(rows.map((row) => row.name))
  return (await knownMigrations(folder)).filter((name) => !applied.has(name))
}

async function knownMigrations(folder: URL): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
}

export type SchemaState = {
  /** The last migration applied. */
  readonly newest: string | null
  readonly missing: readonly string[]
  /** Applied by a newer version of Latchkey. */
  readonly unknown: readonly string[]
}

/** For a running process: compares the schema with the migrations that this version knows. */
export async function readSchemaState(db: Queryable): Promise<SchemaState> {
  const { rows } = await db.query<{ name: string }>('select name from migrations order by name')
  const applied = rows.map((row) => row.name)
  const known = await knownMigrations(FOLDER)
  return {
    newest: applied.at(-1) ?? null,
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  }
}

/** Migrations that `migrate` would apply; all of them for an empty database. */
export async function pendingMigrations(url: string): Promise<readonly string[]> {
  const client = await connect(url)
  try {
    const { rows } = await client.query<{ exists: boolean }>("select to_regclass('migrations') is not null as exists")
    return rows[0]?.exists ? await missingMigrations(client, FOLDER) : await knownMigrations(FOLDER)
  } finally {
    await client.end()
  }
}
