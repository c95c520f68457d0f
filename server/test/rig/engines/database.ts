/**
 * Real databases for tests: a migrated template, built once, and a copy of it per test file.
 *
 * A database may come with a clock of its own. The service reads time only through PostgreSQL's `now()`, unqualified; a
 * schema in front of pg_catalog that has a `now()` too lets a test move time without any hook in the service.
 */
import { createHash, hash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { migrate } from '../../../src/store/postgres/migrate.ts'

const MIGRATIONS = new URL('../../../migrations/', import.meta.url)

export type TestDatabase = {
  readonly url: string
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>
  /** For a long statement that a test repeats: each connection parses and plans it once. */
  queryPrepared<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]>
  /** Only with a clock: moves PostgreSQL's `now()`. */
  advance(ms: number): Promise<void>
  drop(): Promise<void>
}

export function engineUrl(name: 'DATABASE_URL' | 'REDIS_URL' | 'REDIS_CLUSTER_URL'): string {
  const url = process.env[name]
  if (!url) throw new Error(`${name} is not set: run "npm test", or eval "$(npm run -s engines -- --env)" first`)
  return url
}

export type EmptyDatabase = Pick<TestDatabase, 'url' | 'drop'> & { readonly name: string }

/** Without migrations, unless it is a copy of the template. */
export async function createEmptyDatabase(template = 'template1'): Promise<EmptyDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  // Copying files takes a third of the processor time of writing every page to the log, which is the default.
  await admin((client) => client.query(`create database ${name} template ${template} strategy file_copy`))
  return {
    name,
    url: urlOf(name),
    drop: async () => {
      await admin((client) => client.query(`drop database if exists ${name} with (force)`))
    },
  }
}

export async function createTestDatabase(options: { clock?: boolean } = {}): Promise<TestDatabase> {
  const { name, url, drop } = await createEmptyDatabase(await ensureTemplate())
  if (options.clock) await addClock(url, name)
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  return {
    url,
    query: async (sql, values) => (await pool.query(sql, values)).rows,
    queryPrepared: async (text) => (await pool.query({ name: hash('sha1', text), text })).rows,
    advance: async (ms) => {
      if (!options.clock) throw new Error('this database has no clock of its own')
      await pool.query("update test_clock.ahead set by = by + $1 * interval '1 millisecond'", [ms])
      // Partitions that a service running all the time would have created.
      await pool.query("select make_audit_partitions(date_trunc('month', test_clock.now(), 'UTC'))")
    },
    drop: async () => {
      await pool.end()
      await drop()
    },
  }
}

async function addClock(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    create schema test_clock;
    create table test_clock.ahead (by interval not null);
    insert into test_clock.ahead values ('0');
    create function test_clock.now() returns timestamptz stable language sql
      as 'select pg_catalog.now() + (select by from test_clock.ahead)';
    alter database ${name} set search_path = test_clock, pg_catalog, public;`)
  await client.end()
}

/** One template per state of the migrations folder and per month, on which its partitions depend; built by the first process that needs it. */
async function ensureTemplate(): Promise<string> {
  const files = readdirSync(MIGRATIONS).sort()
  const content = files.map((file) => readFileSync(new URL(file, MIGRATIONS), 'utf8')).join('\n')
  const month = new Date().toISOString().slice(0, 7)
  const template = `template_${createHash('sha256').update(`${month}\n${content}`).digest('hex').slice(0, 12)}`
  await admin(async (client) => {
    await client.query('select pg_advisory_lock(7018099)')
    const { rows } = await client.query('select from pg_database where datname = $1', [template])
    if (rows.length > 0) return
    const building = `${template}_building`
    await client.query(`drop database if exists ${building}`)
    await client.query(`create database ${building}`)
    await migrate(urlOf(building))
    await addPastMonths(urlOf(building))
    await client.query(`alter database ${building} rename to ${template}`)
  })
  return template
}

/** Audit partitions for the last thirty days: tests insert events of that time, and in early March that includes January. */
async function addPastMonths(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' })
  await client.connect()
  await client.query(
    "select make_audit_partitions(date_trunc('month', now(), 'UTC') - ago * interval '1 month') from generate_series(1, 2) ago",
  )
  await client.end()
}

async function admin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function urlOf(database: string): string {
  const url = new URL(engineUrl('DATABASE_URL'))
  url.pathname = `/${database}`
  return url.toString()
}
