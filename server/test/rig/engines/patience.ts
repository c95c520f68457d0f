/**
 * PostgreSQL may take long on a busy machine with a slow disk. The service gives up after a second or two and answers 503, which says
 * nothing about what most tests are about: so pools that the service opens inside a test wait far longer. `useOwnTimeouts` is for
 * the files whose subject is what happens when PostgreSQL takes too long.
 */
import pg from 'pg'

const PATIENCE: pg.PoolConfig = {
  connectionTimeoutMillis: 30_000,
  lock_timeout: 30_000,
  statement_timeout: 30_000,
  query_timeout: 35_000,
}

const known: { Pool: typeof pg.Pool; OwnPool?: typeof pg.Pool } = pg
// Vitest runs this file again for each test file of a process.
known.OwnPool ??= pg.Pool
const OwnPool = known.OwnPool

class PatientPool extends OwnPool {
  constructor(settings: pg.PoolConfig = {}) {
    super(settings.connectionTimeoutMillis === undefined ? settings : { ...settings, ...PATIENCE })
  }
}

known.Pool = PatientPool

/** For the whole file that calls it, before it opens anything. */
export function useOwnTimeouts(): void {
  known.Pool = OwnPool
}
