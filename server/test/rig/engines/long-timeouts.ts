/**
 * Longer time limits for PostgreSQL and Redis in tests. With its own limits (a second or two for PostgreSQL, a quarter
 * of a second for Redis) the service would answer 503, or pace in process, on a busy machine with a slow disk. Tests of
 * slow engines restore the limits of the service.
 */
import { Redis } from 'ioredis'
import { useOwnPostgresTimeouts } from './long-postgres-timeouts.ts'

const REDIS_TIMEOUT_MS = 30_000

type Sending = { sendCommand: typeof Redis.prototype.sendCommand; ownSendCommand?: typeof Redis.prototype.sendCommand }
const commands: Sending = Redis.prototype
commands.ownSendCommand ??= commands.sendCommand
const ownSendCommand = commands.ownSendCommand

commands.sendCommand = function (this: Redis, ...sent) {
  if (this.options.commandTimeout !== undefined) this.options.commandTimeout = REDIS_TIMEOUT_MS
  return ownSendCommand.apply(this, sent)
}

/** For the whole file that calls it, before it opens anything, as the next one. */
export function useOwnRedisTimeouts(): void {
  commands.sendCommand = ownSendCommand
}

export function useOwnTimeouts(): void {
  useOwnPostgresTimeouts()
  useOwnRedisTimeouts()
}
