/** Redis connection: the only one of a process, to a single Valkey or Redis or to a cluster, with a circuit breaker. */
import { Cluster, Redis } from 'ioredis'

export type RedisClient = Redis | Cluster

export type RedisLink = {
  readonly redis: RedisClient
  /** Connected, and no recent failure. */
  reachable(): boolean
  /** Callers report the result of each command. */
  failed(reason: string): void
  succeeded(): void
  /** The last reported result. */
  readonly answers: boolean
  /** Failures reported by callers and by the connection itself. */
  readonly failures: number
  close(): Promise<void>
}

/** Command timeout; after it the process goes on without Redis. */
const PATIENCE_MS = 250

/** After a failure Redis is not queried for this long. */
const PAUSE_MS = 500

export function openRedis(url: string, onChange: (answers: boolean, reason?: string) => void): RedisLink {
  const redis = connect(url)
  let answers = true
  let failures = 0
  let pausedUntil = 0

  const failed = (reason: string) => {
    failures += 1
    pausedUntil = performance.now() + PAUSE_MS
    if (answers) onChange(false, reason)
    answers = false
  }
  redis.on('error', (error: Error) => failed(error.message))

  return {
    redis,
    reachable: () => redis.status === 'ready' && performance.now() >= pausedUntil,
    failed,
    // A reply to a command sent before the failure does not end the pause: Redis counts as away until it is used again.
    succeeded: () => {
      if (answers || performance.now() < pausedUntil) return
      onChange(true)
      answers = true
    },
    get answers() {
      return answers
    },
    get failures() {
      return failures
    },
    close: async () => redis.disconnect(),
  }
}

function connect(url: string): RedisClient {
  const single = {
    commandTimeout: PATIENCE_MS,
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, 1_000),
  }
  const match = /^(rediss?)\+cluster:(.*)$/.exec(url)
  if (!match) return new Redis(url, single)
  const address = new URL(`${match[1]}:${match[2]}`)
  const { maxRetriesPerRequest, retryStrategy, enableOfflineQueue, ...redisOptions } = single
  return new Cluster([{ host: address.hostname, port: Number(address.port || 6379) }], {
    enableOfflineQueue,
    clusterRetryStrategy: retryStrategy,
    // For gate/decision-bus.ts.
    shardedSubscribers: true,
    redisOptions: {
      ...redisOptions,
      ...(address.username ? { username: decodeURIComponent(address.username) } : {}),
      ...(address.password ? { password: decodeURIComponent(address.password) } : {}),
      ...(address.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  })
}
