/**
 * PostgreSQL and Redis may take long on a busy machine with a slow disk. The service gives up after a second or two, or a quarter of
 * a second, and answers 503 or paces on its own, which says nothing about what most tests are about: so what the service opens inside
 * a test waits far longer. `useOwnTimeouts` is for the files whose subject is what happens when an engine takes too long.
 */
import { Redis } from 'ioredis'
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

const REDIS_PATIENCE_MS = 30_000

type Sending = { sendCommand: typeof Redis.prototype.sendCommand; ownSendCommand?: typeof Redis.prototype.sendCommand }
const commands: Sending = Redis.prototype
commands.ownSendCommand ??= commands.sendCommand
const ownSendCommand = commands.ownSendCommand

commands.sendCommand = function (this: Redis, ...sent) {
  if (this.options.commandTimeout !== undefined) this.options.commandTimeout = REDIS_PATIENCE_MS
  return ownSendCommand.apply(this, sent)
}

/** For the whole file that calls it, before it opens anything. */
export function useOwnTimeouts(): void {
  known.Pool = OwnPool
  commands.sendCommand = ownSendCommand
}
