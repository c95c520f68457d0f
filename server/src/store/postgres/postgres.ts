/**
 * The way to PostgreSQL, the only truth: pools, transactions, and what "away" means.
 *
 * `store/` is hand-readable SQL, one file per table. It keeps and finds; it decides nothing. There is one implementation
 * and no interface for it. Time is PostgreSQL's `now()`, everywhere: no lifetime depends on the clock of a server.
 */
import pg from 'pg'

/** What PostgreSQL itself said no to, with its SQLSTATE. */
export const { DatabaseError } = pg

/** `query_timeout`: more patience than usual, for the few statements that may read millions of rows. */
type Statement = string | (pg.QueryConfig & { query_timeout?: number })

export type Queryable = {
  query<Row extends pg.QueryResultRow>(statement: Statement, values?: unknown[]): Promise<pg.QueryResult<Row>>
}

/** For statements that may read millions of rows: PostgreSQL waits for them, and the client a little longer. */
export const PATIENT = { query_timeout: 16_000 }

export async function bePatient(tx: Transaction): Promise<void> {
  await tx.query("set local statement_timeout = '15s'")
}

/** A transaction in progress. Functions that lock take this, so that a lock without a transaction does not compile. */
export type Transaction = Queryable & { readonly inTransaction: true }

export type Postgres = Queryable & {
  /** For the shared reads of polls: its own few connections, so that polls never keep a decision waiting. */
  readonly reads: Queryable
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  pools(): readonly PoolFigures[]
  close(): Promise<void>
}

/** Connections of one pool at this moment, and how many wait for one. */
export type PoolFigures = {
  readonly name: 'decisions' | 'polls'
  readonly used: number
  readonly idle: number
  readonly max: number
  readonly waiting: number
}

/** PostgreSQL cannot be asked at the moment, or did not say whether it committed. Nothing is wrong with the request. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** The connection itself failed or said nothing: nobody can know what became of what was asked on it. */
  readonly silent: boolean

  constructor(message: string, options: { silent: boolean; cause?: unknown } = { silent: false }) {
    super(message, { cause: options.cause })
    this.silent = options.silent
  }
}

const TIMESTAMPTZ = 1184
const INT8 = 20

/** Moments are epoch milliseconds in the house; `bigint` columns count changes and stay far below 2^53. */
const types = new pg.TypeOverrides()
types.setTypeParser(TIMESTAMPTZ, (text: string) => Date.parse(text))
types.setTypeParser(INT8, Number)

/** Kept for polls. */
const READ_CONNECTIONS = 2

export function openPostgres(url: string, connections: number): Postgres {
  const settings: pg.PoolConfig = {
    connectionString: url,
    types,
    connectionTimeoutMillis: 1_000,
    statement_timeout: 2_000,
    lock_timeout: 1_500,
    idle_in_transaction_session_timeout: 10_000,
    // The client's own patience, for a server that accepts and then says nothing.
    query_timeout: 2_500,
    keepAlive: true,
    options: '-c timezone=UTC',
  }
  const pool = new pg.Pool({ ...settings, max: connections })
  const readPool = new pg.Pool({ ...settings, max: READ_CONNECTIONS })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  for (const each of [pool, readPool]) each.on('error', () => {})
  return {
    ...queryable(pool),
    reads: queryable(readPool),
    transaction: (work) => transaction(pool, work),
    pools: () => [figuresOf('decisions', pool, connections), figuresOf('polls', readPool, READ_CONNECTIONS)],
    close: async () => {
      await Promise.all([pool.end(), readPool.end()])
    },
  }
}

export type Session = Queryable & { close(): Promise<void> }

/** One connection, with as much patience as it takes: for commands of an operator that read or wait for minutes. */
export async function verifySession(url: string): Promise<Session> {
  const client = new pg.Client({
    connectionString: url,
    types,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    options: '-c timezone=UTC',
  })
  client.on('error', () => {})
  await client.connect().catch(rethrowAsUnavailable)
  return { ...queryable(client), close: () => client.end() }
}

function figuresOf(name: PoolFigures['name'], pool: pg.Pool, max: number): PoolFigures {
  const { totalCount, idleCount: idle, waitingCount: waiting } = pool
  return { name, used: totalCount - idle, idle, max, waiting }
}

function queryable(target: pg.Pool | pg.PoolClient | pg.Client): Queryable {
  return {
    query: (statement, values) => target.query(statement as string, values).catch(rethrowAsUnavailable),
  }
}

async function transaction<T>(pool: pg.Pool, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(rethrowAsUnavailable)
  const tx: Transaction = { ...queryable(client), inTransaction: true }
  let broken: Error | undefined
  // A connection that dies while it is ours reports it here as well as in the query.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await tx.query('begin')
    const result = await work(tx)
    await tx.query('commit')
    return result
  } catch (error) {
    // A connection that does not answer is thrown away; asking it to roll back would only wait once more.
    if (error instanceof Unavailable && error.silent) broken = error
    else await tx.query('rollback').catch(onError)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** SQLSTATE classes and codes that say "not now": connection, resources, shutting down, read-only, cancelled, locked. */
const NOT_NOW = /^(08|53|57P|25006|57014|55P03|40001|40P01)/

/** What has no SQLSTATE did not come from PostgreSQL: it was not reached, or it said nothing. */
export function rethrowAsUnavailable(error: Error): never {
  const state = error instanceof pg.DatabaseError ? error.code : undefined
  const silent = state === undefined
  if (silent || NOT_NOW.test(state)) throw new Unavailable(`PostgreSQL: ${error.message}`, { silent, cause: error })
  throw error
}
