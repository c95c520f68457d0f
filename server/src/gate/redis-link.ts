/**
 * Redis connection: the only one of a process, to a single Valkey or Redis, to a cluster, or to the master that Redis
 * Sentinel names, with a circuit breaker.
 */
import { Cluster, Redis } from 'ioredis'
import { parseRedisUrl } from '../redis-url.ts'

export type RedisClient = Redis | Cluster

export type RedisLink = {
  readonly redis: RedisClient
  /** Connected, and no recent failure. */
  reachable(): boolean
  /** Callers report the results of their commands. */
  failed(reason: string): void
  succeeded(): void
  /** The last reported result. */
  readonly answers: boolean
  /**
   * When it answered again after the last failure, on the monotonic clock. What was sent to it before that may have been
   * carried out much later.
   */
  readonly answersSince: number
  /** Failures reported by callers and by the connection itself. */
  readonly failures: number
  close(): Promise<void>
}

/** Command timeout; after it the process goes on without Redis. */
const COMMAND_TIMEOUT_MS = 250

/** After a failure Redis is not queried for this long. */
const PAUSE_MS = 500

/**
 * Key that is set to find out whether a Redis that was away answers again. Not PING: a Redis that is full or read-only
 * answers that. The user of deploy/redis/latchkey.conf may set keys that begin with a p.
 */
const PROBE_KEY = 'probe'
const PROBE_EXPIRY_MS = 1_000

/** Time to connect, and for a sentinel to say who is the master. */
const CONNECT_MS = 1_000

/**
 * A connection on which a command stays unanswered for this long is closed: a server that lost its power or its network
 * does not close it, and the next connection may lead to its successor.
 */
const SOCKET_TIMEOUT_MS = 2_000

export function openRedis(url: string, onChange: (answers: boolean, reason?: string) => void): RedisLink {
  const redis = connect(url)
  let answers = true
  let answersSince = Number.NEGATIVE_INFINITY
  let failures = 0
  let pausedUntil = 0

  const failed = (reason: string) => {
    failures += 1
    pausedUntil = performance.now() + PAUSE_MS
    if (answers) onChange(false, reason)
    answers = false
  }
  redis.on('error', (error: Error) => failed(error.message))
  const reachable = () => redis.status === 'ready' && performance.now() >= pausedUntil
  // A reply to a command sent before the failure does not end the pause: Redis counts as away until it is used again.
  const succeeded = () => {
    if (answers || performance.now() < pausedUntil) return
    onChange(true)
    answers = true
    answersSince = performance.now()
  }
  // A process without requests sends nothing else, and would take Redis to be away until the next one.
  const probe = async () => {
    if (answers || !reachable()) return
    await redis.set(PROBE_KEY, '', 'PX', PROBE_EXPIRY_MS).then(succeeded, (error: Error) => failed(error.message))
  }
  const probing = setInterval(probe, PAUSE_MS).unref()

  return {
    redis,
    reachable,
    failed,
    succeeded,
    get answers() {
      return answers
    },
    get answersSince() {
      return answersSince
    },
    get failures() {
      return failures
    },
    close: async () => {
      clearInterval(probing)
      redis.disconnect()
    },
  }
}

function connect(url: string): RedisClient {
  const { kind, tls, hosts, username, password, database, sentinel } = parseRedisUrl(url)
  const server = {
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    ...(tls && { tls: {} }),
  }
  const retryStrategy = (attempt: number) => Math.min(50 * attempt, 1_000)
  if (kind === 'cluster') {
    return new Cluster([...hosts], {
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      // For gate/decision-bus.ts.
      shardedSubscribers: true,
      redisOptions: server,
    })
  }
  const single = {
    ...server,
    db: database,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy,
    // A master that became a replica and kept its connections: the next connection leads to the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  if (sentinel === null) return new Redis({ ...single, ...hosts[0] })
  return new Redis({
    ...single,
    sentinels: [...hosts],
    name: sentinel.group,
    ...(sentinel.username !== null && { sentinelUsername: sentinel.username }),
    ...(sentinel.password !== null && { sentinelPassword: sentinel.password }),
    ...(tls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: CONNECT_MS,
    sentinelRetryStrategy: retryStrategy,
  })
}
