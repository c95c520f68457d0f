/** Longer time limits for PostgreSQL, of which a busy machine with a slow disk takes more than a second or two. */
import pg from 'pg'

const POOL_TIMEOUTS: pg.PoolConfig = {
  connectionTimeoutMillis: 30_000,
  lock_timeout: 30_000,
  statement_timeout: 30_000,
  query_timeout: 35_000,
}

const known: { Pool: typeof pg.Pool; OwnPool?: typeof pg.Pool } = pg
// Vitest runs this file again for each test file of a process.
known.OwnPool ??= pg.Pool
const OwnPool = known.OwnPool

class LongTimeoutPool extends OwnPool {
  constructor(settings: pg.PoolConfig = {}) {
    super(settings.connectionTimeoutMillis === undefined ? settings : { ...settings, ...POOL_TIMEOUTS })
  }
}

known.Pool = LongTimeoutPool

/** For the whole file that calls it, before it opens anything. */
export function useOwnPostgresTimeouts(): void {
  known.Pool = OwnPool
}
