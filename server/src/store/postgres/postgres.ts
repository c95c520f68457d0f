/**
 * PostgreSQL, the only source of truth: pools, transactions, and which errors mean that it is unavailable.
 *
 * `store/` is plain SQL, one file per table. It stores and reads and makes no decisions. There is one implementation
 * and no interface for it. Time is PostgreSQL's `now()` everywhere: no lifetime depends on the clock of an application
 * server.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { GenerationLine } from '../../core/restore/journal-line.ts'
import { ConfigurationError } from '../../setting-texts.ts'
import type { Journal } from '../restore/journal.ts'
import { journalLines } from '../restore/journalled-events.ts'
import { type ConfirmedCommits, createConfirmedCommits, readWritten } from './confirmed-commits.ts'
import { createPooler, examineConnection } from './pooler.ts'
import { COMMIT, checkCommits, watchCommits } from './synchronous-commit.ts'

/** An error that PostgreSQL itself reported, with its SQLSTATE. */
export const { DatabaseError } = pg

/** `query_timeout`: overrides the default, for the few statements that may read millions of rows. */
type Statement = string | (pg.QueryConfig & { query_timeout?: number })

export type Queryable = {
  query<Row extends pg.QueryResultRow>(statement: Statement, values?: unknown[]): Promise<pg.QueryResult<Row>>
}

/** Client-side timeout for statements that may read millions of rows: slightly longer than the server-side one. */
export const LONG_QUERY = { query_timeout: 16_000 }

export function allowLongQueries(tx: Transaction): Promise<void> {
  return tx.allowSeconds(15)
}

/**
 * A transaction in progress. Functions that lock take this type, so that locking outside a transaction does not
 * compile.
 */
export type Transaction = Queryable & {
  readonly inTransaction: true
  /** Adds a line to the revocation journal, if there is one, in addition to those of the transaction's audit events. */
  journal(line: GenerationLine): void
  /** Server-side timeout of its next statements. Their `query_timeout` is theirs to set. */
  allowSeconds(seconds: number): Promise<void>
}

export type Postgres = Queryable & {
  /** For the batched reads of polls: a small pool of its own, so that polls never delay a decision. */
  readonly reads: Queryable
  /** Runs `work` again if another transaction got in its way, so it changes nothing but through `tx`. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  pools(): readonly PoolFigures[]
  close(): Promise<void>
}

/** Current connections of one pool, and the number of callers waiting for one. */
export type PoolFigures = {
  readonly name: 'decisions' | 'polls'
  readonly used: number
  readonly idle: number
  readonly max: number
  readonly waiting: number
}

/** PostgreSQL cannot serve the statement now, or did not confirm a commit. The request itself is not at fault. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** The connection failed or timed out, or a commit was not confirmed: the outcome of the statement is unknown. */
  readonly silent: boolean

  constructor(message: string, options: { silent: boolean; cause?: unknown } = { silent: false }) {
    super(message, { cause: options.cause })
    this.silent = options.silent
  }
}

const TIMESTAMPTZ = 1184
const INT8 = 20

/** Timestamps are epoch milliseconds throughout; `bigint` columns count changes and stay far below 2^53. */
const types = new pg.TypeOverrides()
types.setTypeParser(TIMESTAMPTZ, (text: string) => Date.parse(text))
types.setTypeParser(INT8, Number)

/** Connection timeout of the service: its requests are answered 503 early, so that they do not pile up. */
const CONNECT_MS = 1_000

/** Connection timeout of a command: longer, because no request waits for a command. */
export const COMMAND_CONNECT_MS = 5_000

/** Size of the pool for polls. */
const READ_CONNECTIONS = 2

export type PostgresOptions = {
  readonly connectMs?: number
  /** Id of the request that is being answered; null: none. */
  readonly requestId?: () => string | null
  /** Null: there is none. A transaction returns when what it ended is in the journal (store/restore/journal.ts). */
  readonly journal?: Pick<Journal, 'append' | 'doubt'> | null
  readonly commits?: ConfirmedCommits
}

export function openPostgres(url: string, connections: number, options: PostgresOptions = {}): Postgres {
  const { connectMs = CONNECT_MS, requestId = () => null, journal = null, commits = createConfirmedCommits() } = options
  const pooler = createPooler()
  const settings: pg.PoolConfig = {
    connectionString: url,
    types,
    onConnect: pooler.recognise,
    connectionTimeoutMillis: connectMs,
    statement_timeout: 2_000,
    lock_timeout: 1_500,
    idle_in_transaction_session_timeout: 10_000,
    // Client-side timeout, for a server that accepts the connection and then does not answer.
    query_timeout: 2_500,
    keepAlive: true,
    // Compiling a statement takes longer than any statement of the service.
    options: '-c timezone=UTC -c jit=off',
  }
  const pool = new pg.Pool({ ...settings, max: connections })
  const readPool = new pg.Pool({ ...settings, max: READ_CONNECTIONS })
  // The pool replaces an idle connection that breaks; without a listener, the event would end the process.
  for (const each of [pool, readPool]) each.on('error', () => {})
  // The same for one in use, whose query fails as well.
  pool.on('connect', (client) => client.on('error', () => {}))
  watchCommits(pool)
  const named = () => !pooler.isThere
  return {
    query: (statement, values) =>
      queryOnce<never>(pool, prepared(statement, named), values).catch(rethrowAsUnavailable),
    reads: queryable(readPool, named),
    transaction: async (work) => {
      const { result, lines } = await retryConflicts(() =>
        transaction({ pool, named, journal, commits }, requestId(), work),
      )
      await journal?.append(lines).catch((error: Error) => {
        throw new Unavailable(`The revocation journal cannot be written: ${error.message}`)
      })
      return result
    },
    pools: () => [figuresOf('decisions', pool, connections), figuresOf('polls', readPool, READ_CONNECTIONS)],
    close: async () => {
      await Promise.all([pool.end(), readPool.end()])
    },
  }
}

export type Session = Queryable & { close(): Promise<void> }

/** A single connection without timeouts, for operator commands that read or wait for minutes. */
export async function openSession(url: string): Promise<Session> {
  const client = new pg.Client({
    connectionString: url,
    types,
    connectionTimeoutMillis: COMMAND_CONNECT_MS,
    keepAlive: true,
    options: '-c timezone=UTC',
  })
  client.on('error', () => {})
  await client.connect().catch(rethrowAsUnavailable)
  if (!(await examineConnection(client)).pooled) return { ...queryable(client), close: () => client.end() }
  await client.end()
  throw new ConfigurationError('DATABASE_URL names a connection pooler; this command needs PostgreSQL itself.')
}

function figuresOf(name: PoolFigures['name'], pool: pg.Pool, max: number): PoolFigures {
  const { totalCount, idleCount: idle, waitingCount: waiting } = pool
  return { name, used: totalCount - idle, idle, max, waiting }
}

/** `named`: whether the session keeps statements by their name. */
function queryable(target: pg.Pool | pg.PoolClient | pg.Client, named: () => boolean = () => true): Queryable {
  return {
    query: (statement, values) => target.query(prepared(statement, named), values).catch(rethrowAsUnavailable),
  }
}

function prepared(statement: Statement, named: () => boolean): Statement {
  if (typeof statement === 'string' || statement.name === undefined || named()) return statement
  const { name: _, ...unnamed } = statement
  return unnamed
}

/** A statement outside a transaction, which commits by itself. */
async function queryOnce<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: Statement,
  values?: unknown[],
): Promise<pg.QueryResult<Row>> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    const result = await client.query<Row>(statement, values)
    checkCommits(client)
    return result
  } catch (error) {
    failure = error as Error
    throw error
  } finally {
    client.release(failure)
  }
}

const TRIES = 3

/** Pause before a retry, times the attempt number, plus up to 100% jitter, so that the conflict does not recur. */
const MIN_PAUSE_MS = 20

/** Retries a transaction that PostgreSQL rolled back because of a conflict with another one (`isConflict`). */
async function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempt === TRIES || !isConflict(error)) throw error
      await sleep(attempt * randomInt(MIN_PAUSE_MS, 2 * MIN_PAUSE_MS))
    }
  }
}

/** Serialization failure or deadlock. */
function isConflict(error: unknown): boolean {
  const cause = error instanceof Unavailable ? error.cause : undefined
  return cause instanceof DatabaseError && (cause.code === '40001' || cause.code === '40P01')
}

/** The audit events of the transaction get the id of its request by default. In one round trip with `begin`. */
function begin(requestId: string | null): string {
  return requestId === null ? 'begin' : `begin; set local latchkey.request_id = ${pg.escapeLiteral(requestId)}`
}

type Committed<T> = { readonly result: T; readonly lines: readonly string[] }

type Opened = {
  readonly pool: pg.Pool
  readonly named: () => boolean
  readonly journal: Pick<Journal, 'doubt'> | null
  readonly commits: ConfirmedCommits
}

async function transaction<T>(
  opened: Opened,
  requestId: string | null,
  work: (tx: Transaction) => Promise<T>,
): Promise<Committed<T>> {
  const { pool, named } = opened
  const client = await pool.connect().catch(rethrowAsUnavailable)
  const lines: string[] = []
  let allowedMs = 0
  const { query } = queryable(client, named)
  const tx: Transaction = {
    query,
    inTransaction: true,
    journal: (line) => void lines.push(JSON.stringify(line)),
    allowSeconds: async (seconds) => {
      allowedMs = seconds * 1000
      await query(`set local statement_timeout = '${seconds}s'`)
    },
  }
  let broken: Error | undefined
  // A connection that breaks while checked out emits this event in addition to failing the query.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await tx.query(begin(requestId))
    const result = await work(tx)
    lines.push(...(await commit(client, allowedMs, opened)))
    return { result, lines }
  } catch (error) {
    // Discard a connection that does not answer; a rollback on it would only time out again.
    if (error instanceof Unavailable && (error.silent || isReadOnly(error))) broken = error
    else await tx.query('rollback').catch(onError)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** The condition finds nothing in a transaction that wrote nothing. */
const COMMIT_JOURNALLED = `${journalLines('xid = pg_current_xact_id_if_assigned() and at = now()')}; ${COMMIT}`

/**
 * Returns the lines of the transaction's events, in the same round trip. `allowedMs`: of a transaction that may have
 * revoked as many grants as there are users. All others end at the usual timeout: the commit may wait for a standby.
 */
async function commit(
  client: pg.ClientBase,
  allowedMs: number,
  { journal, commits }: Opened,
): Promise<readonly string[]> {
  const long = journal && allowedMs > 0 ? { query_timeout: allowedMs + 1_000 } : {}
  const sentAt = commits.send()
  try {
    // Several statements have several results, which the type does not say.
    const results: unknown = await client.query({ text: journal ? COMMIT_JOURNALLED : COMMIT, ...long })
    checkCommits(client)
    const [written, ended] = (results as readonly pg.QueryResult[]).toReversed().slice(1)
    const commit = written?.rows[0]?.written
    if (commit) commits.confirm(sentAt, readWritten(commit))
    return (ended?.rows ?? []).map(({ line }) => line)
  } catch (error) {
    journal?.doubt()
    return rethrowAsUnavailable(error as Error)
  }
}

/** The primary became a standby: this connection would stay read-only. */
function isReadOnly({ cause }: Unavailable): boolean {
  return cause instanceof DatabaseError && cause.code === '25006'
}

/**
 * SQLSTATE classes and codes of temporary failures: connection, resources, shutdown, read-only, idle or running for too
 * long in a transaction, cancelled, locked, serialization failure and deadlock.
 */
const TEMPORARY = /^(08|53|57P|25006|25P03|25P04|57014|55P03|40001|40P01)/

/**
 * Rethrows temporary failures as Unavailable. An error without SQLSTATE did not come from PostgreSQL: it was
 * unreachable or did not answer.
 */
export function rethrowAsUnavailable(error: Error): never {
  const state = error instanceof pg.DatabaseError ? error.code : undefined
  const silent = state === undefined
  if (silent || TEMPORARY.test(state)) throw new Unavailable(`PostgreSQL: ${error.message}`, { silent, cause: error })
  throw error
}
