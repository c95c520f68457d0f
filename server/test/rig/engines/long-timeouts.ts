/**
 * Longer time limits for PostgreSQL and Redis in tests. With its own limits (a second or two for PostgreSQL, a quarter
 * of a second for Redis) the service would answer 503, or pace in process, on a busy machine with a slow disk.
 * `useOwnTimeouts` restores them for tests of slow engines.
 */
import { Redis } from 'ioredis'
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

const REDIS_TIMEOUT_MS = 30_000

type Sending = { sendCommand: typeof Redis.prototype.sendCommand; ownSendCommand?: typeof Redis.prototype.sendCommand }
const commands: Sending = Redis.prototype
commands.ownSendCommand ??= commands.sendCommand
const ownSendCommand = commands.ownSendCommand

commands.sendCommand = function (this: Redis, ...sent) {
  if (this.options.commandTimeout !== undefined) this.options.commandTimeout = REDIS_TIMEOUT_MS
  return ownSendCommand.apply(this, sent)
}

/** For the whole file that calls it, before it opens anything. */
export function useOwnTimeouts(): void {
  known.Pool = OwnPool
  commands.sendCommand = ownSendCommand
}
