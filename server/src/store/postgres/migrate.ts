/**
 * Schema migrations: numbered files, forward only, under one advisory lock.
 *
 * A file runs in one transaction, unless its directive says otherwise (migration-files.ts): statement by statement, for
 * `create index concurrently` and what else blocks neither readers nor writers, or in batches of rows. Those two, if
 * interrupted, run again from their beginning, so each of their statements has to be repeatable.
 * docs/decisions/0059-a-migration-never-makes-requests-wait.md
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { MIGRATION_LOCK } from './advisory-locks.ts'
import { type Batches, listMigrations, MIGRATIONS_FOLDER, type Migration, readMigration } from './migration-files.ts'
import { examineConnection } from './pooler.ts'
import { COMMAND_CONNECT_MS, type Queryable, rethrowAsUnavailable, Unavailable } from './postgres.ts'

/**
 * Applies missing migrations and returns their names. Safe to run from several processes at once. Waits up to `waitMs` for
 * PostgreSQL, which may start at the same time.
 */
export async function migrate(url: string, folder: URL = MIGRATIONS_FOLDER, waitMs = 0): Promise<readonly string[]> {
  const client = await connectWithin(url, waitMs)
  const pooled = await examineConnection(client).then((found) => found.pooled)
  const lockHolder = pooled ? await connect(url) : null
  try {
    await (lockHolder ? acquireLockInTransaction(lockHolder) : acquireLock(client))
    await client.query('create table if not exists migrations (name text primary key, applied_at timestamptz not null)')
    const missing = await missingMigrations(client, folder)
    for (const name of missing) await apply(client, await readMigration(name, folder))
    return missing
  } finally {
    await client.end()
    await lockHolder?.end()
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
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: COMMAND_CONNECT_MS,
    application_name: 'latchkey migrate',
  })
  // The query reports a broken connection as well; without a listener, the event would end the process.
  client.on('error', () => {})
  await client.connect().catch(rethrowAsUnavailable)
  return client
}

const TRY_EVERY_MS = 200

/**
 * Polls for the lock instead of waiting in `pg_advisory_lock`: a waiting statement holds a snapshot, and `create index
 * concurrently` waits for every snapshot older than the index. Two runners would deadlock.
 */
async function acquireLock(client: pg.Client): Promise<void> {
  while (!(await tryLock(client, 'pg_try_advisory_lock'))) await sleep(TRY_EVERY_MS)
}

/** Behind a pooler, a session lock would outlive the client: a transaction holds it, which lasts as long as the connection. */
async function acquireLockInTransaction(client: pg.Client): Promise<void> {
  for (;;) {
    await client.query('begin; set local idle_in_transaction_session_timeout = 0')
    if (await tryLock(client, 'pg_try_advisory_xact_lock')) return
    await client.query('rollback')
    await sleep(TRY_EVERY_MS)
  }
}

async function tryLock(client: pg.Client, lock: `pg_try_advisory${'' | '_xact'}_lock`): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(`select ${lock}(${MIGRATION_LOCK}) as locked`)
  return rows[0]?.locked ?? false
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  try {
    if (migration.runs === 'in a transaction') await retryLocks(() => applyInside(client, migration))
    else if (migration.runs === 'statement by statement') await applyOutside(client, migration)
    else await applyInBatches(client, migration, migration.runs)
  } catch (error) {
    throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error })
  }
}

/** Requests queue behind a statement that waits for a table lock: it waits this long at most, then lets them pass. */
const LOCK_TIMEOUT = "lock_timeout = '50ms'"

const MAX_LOCK_WAIT_MS = 5 * 60_000

const [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED] = ['55P03', '40P01']

/** Tries again while another transaction is in the way, at random moments, for five minutes. */
async function retryLocks(work: () => Promise<unknown>): Promise<void> {
  for (const until = performance.now() + MAX_LOCK_WAIT_MS; ; await sleep(randomInt(100, 500))) {
    try {
      await work()
      return
    } catch (error) {
      const conflict =
        error instanceof pg.DatabaseError && [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED].includes(`${error.code}`)
      if (!conflict || performance.now() > until) throw error
    }
  }
}

async function applyInside(client: pg.Client, { name, sql }: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(`set local ${LOCK_TIMEOUT}; set local statement_timeout = 0`)
    // Insert the row first, so that a second runner that got past the lock fails before it changes anything.
    await recordApplied(client, name)
    await client.query(sql)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** Elsewhere in a line a semicolon belongs to a string or a comment. PostgreSQL refuses a string that is cut in two. */
const END_OF_STATEMENT = /;\s*$/m

/**
 * Without a lock timeout: these statements wait for transactions that began before them, however long they take, and
 * nothing queues behind them. The row is inserted last: without it, the file runs again.
 */
async function applyOutside(client: pg.Client, { name, sql }: Migration): Promise<void> {
  await refusePooler(client)
  await client.query('set lock_timeout = 0')
  for (const statement of sql.split(END_OF_STATEMENT)) await client.query(statement)
  await recordApplied(client, name)
}

async function refusePooler(client: pg.Client): Promise<void> {
  if (!(await examineConnection(client)).pooled) return
  throw new Error('it runs outside a transaction: set DATABASE_URL to PostgreSQL itself, not to a connection pooler')
}

/** Small enough that a request that needs one of the rows waits for a few milliseconds. */
const BATCH_ROWS = 250

/** Each batch is a transaction. Between two, as long a pause as the batch took leaves the disk to the service. */
async function applyInBatches(client: pg.Client, { name, sql }: Migration, batches: Batches): Promise<void> {
  await refusePooler(client)
  await client.query(`set ${LOCK_TIMEOUT}`)
  for (let keys = await nextKeys(client, batches, null); keys; keys = await nextKeys(client, batches, keys.last)) {
    const begun = performance.now()
    const { first, last } = keys
    await retryLocks(() => client.query(sql, [first, last]))
    await sleep(performance.now() - begun)
  }
  await recordApplied(client, name)
}

type Keys = { readonly first: string; readonly last: string }

async function nextKeys(client: pg.Client, { table, key }: Batches, after: string | null): Promise<Keys | null> {
  const [from, values] = after === null ? [table, []] : [`${table} where ${key} > $1`, [after]]
  const { rows } = await client.query<{ key: string }>(
    `select ${key}::text as key from ${from} order by ${key} limit ${BATCH_ROWS}`,
    values,
  )
  const [first, last] = [rows[0]?.key, rows.at(-1)?.key]
  return first === undefined || last === undefined ? null : { first, last }
}

async function recordApplied(client: pg.Client, name: string): Promise<void> {
  await client.query('insert into migrations (name, applied_at) values ($1, now())', [name])
}

async function missingMigrations(client: { query: pg.Client['query'] }, folder: URL): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const applied = new Set(rows.map((row) => row.name))
  return (await listMigrations(folder)).filter((name) => !applied.has(name))
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
  const known = await listMigrations(MIGRATIONS_FOLDER)
  return {
    newest: applied.at(-1) ?? null,
    missing: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  }
}

/** Migrations that `migrate` would apply; all of them for an empty database. */
export async function pendingMigrations(url: string, folder: URL = MIGRATIONS_FOLDER): Promise<readonly string[]> {
  const client = await connect(url)
  try {
    const { rows } = await client.query<{ exists: boolean }>("select to_regclass('migrations') is not null as exists")
    return rows[0]?.exists ? await missingMigrations(client, folder) : await listMigrations(folder)
  } finally {
    await client.end()
  }
}
