/** The one connection to Valkey or Redis that a process has, single or cluster, and whether it is worth asking at the moment. */
import { Cluster, Redis } from 'ioredis'

export type RedisClient = Redis | Cluster

export type RedisLink = {
  readonly redis: RedisClient
  /** Connected, and no failure a moment ago. */
  reachable(): boolean
  /** Whoever asked says how it went. */
  failed(reason: string): void
  succeeded(): void
  /** What the last of them said. */
  readonly answers: boolean
  /** Of whoever asked, and of the connection itself. */
  readonly failures: number
  close(): Promise<void>
}

/** Requests wait this long for Redis, then the process goes on alone. */
const PATIENCE_MS = 250

/** After a failure, how long this process does not even ask. */
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
    succeeded: () => {
      if (!answers) onChange(true)
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
    redisOptions: {
      ...redisOptions,
      ...(address.username ? { username: decodeURIComponent(address.username) } : {}),
      ...(address.password ? { password: decodeURIComponent(address.password) } : {}),
      ...(address.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  })
}
