/**
 * Gate on Valkey or Redis (a single server, a cluster, or behind Redis Sentinel), shared by all processes. It
 * has two small keys per code, pace and hint, both with a TTL of seconds. Polls of the same event-loop turn are sent as
 * one script call, which costs a seventh of two commands per poll
 * (docs/history.md#0006).
 *
 * While Redis does not answer, this process paces on its own: a poll is never rejected or delayed because of the gate.
 * A promoted replica lacks the last writes, and a Redis that hung executes old commands late. So a decision known to
 * this process overrides the hint, and for one pace after a failure no poll is early
 * (docs/history.md#0056).
 */
import { Cluster } from 'ioredis'
import { type Gate, type GateReply, MAX_HINT_MS } from './gate.ts'
import { createLocalGate } from './local-gate.ts'
import type { RedisClient, RedisLink } from './redis-link.ts'

/**
 * For each code: sets the pace if it is free and reads the hint. KEYS: pace, hint, pace, hint, …; ARGV: the pace in ms.
 * Returns 1 for early, plus 2 for pending. A hint is 1, or 0 once the code was decided: small integers, because Redis
 * shares one object of each among all keys.
 */
const POLL_SCRIPT = `
local out = {}
for i = 1, #KEYS, 2 do
  local taken = redis.call('SET', KEYS[i], '1', 'NX', 'PX', ARGV[1])
  local pending = redis.call('GET', KEYS[i + 1]) == '1'
  out[#out + 1] = (taken and 0 or 1) + (pending and 2 or 0)
end
return out`

type PollingRedis = RedisClient & { poll(keyCount: number, ...keysAndPace: string[]): Promise<number[]> }

/**
 * A cluster runs a script only on keys of one slot. This many slots spread the load evenly and keep batches large
 * enough.
 */
const BUCKETS = 64

/** Delay between retries of a failed drop. */
const DROP_RETRY_MS = 250

type Waiting = { readonly id: string; readonly paceMs: number; readonly resolve: (poll: GateReply) => void }

export function createRedisGate(link: RedisLink): Gate {
  const { reachable, failed, succeeded } = link
  link.redis.defineCommand('poll', { lua: POLL_SCRIPT })
  const redis = link.redis as PollingRedis
  const alone = createLocalGate()
  const perBucket = redis instanceof Cluster
  /** Hints on Redis cannot be listed; until this time, by when the old ones have expired, none is believed. */
  let distrustedUntil = Number.NEGATIVE_INFINITY
  let waiting: Waiting[] = []
  let scheduled = false

  /** The batch has one pace and, on a cluster, one bucket. */
  const poll = async (batch: readonly Waiting[]) => {
    const args: string[] = []
    for (const { id } of batch) args.push(paceKey(id), hintKey(id))
    args.push(String(batch[0]?.paceMs))
    try {
      const replies = await redis.poll(batch.length * 2, ...args)
      succeeded()
      const now = performance.now()
      for (const [index, { id, paceMs, resolve }] of batch.entries()) {
        const reply = replies[index] ?? 0
        const early = (reply & 1) === 1 && now >= link.answersSince + paceMs
        const pending = (reply & 2) === 2 && now >= distrustedUntil && !alone.isDecided(id)
        resolve({ early, pending })
      }
    } catch (error) {
      failed((error as Error).message)
      for (const each of batch) void alone.poll(each.id, each.paceMs).then(each.resolve)
    }
  }

  const flush = () => {
    scheduled = false
    const batch = waiting
    waiting = []
    // Nearly always one group: all codes of an installation have the same interval, until an operator changes it.
    const groups = Map.groupBy(batch, ({ id, paceMs }) => (perBucket ? `${bucketOf(id)}${paceMs}` : paceMs))
    for (const group of groups.values()) void poll(group)
  }

  const dropShared = async (id: string): Promise<boolean> => {
    if (!reachable()) return false
    try {
      await redis.set(hintKey(id), '0', 'PX', MAX_HINT_MS)
      succeeded()
      return true
    } catch (error) {
      failed((error as Error).message)
      return false
    }
  }

  /**
   * Drops that Redis did not accept, with the time at which the hint expires anyway. Until then other processes still
   * see the hint.
   */
  const pendingDrops = new Map<string, number>()
  let dropTimer: NodeJS.Timeout | undefined

  const dropLater = (id: string) => {
    pendingDrops.set(id, performance.now() + MAX_HINT_MS)
    dropTimer ??= setTimeout(dropPending, DROP_RETRY_MS).unref()
  }

  const dropPending = async () => {
    for (const [id, until] of pendingDrops) {
      if (performance.now() > until || (await dropShared(id))) pendingDrops.delete(id)
      else break
    }
    dropTimer = pendingDrops.size > 0 ? setTimeout(dropPending, DROP_RETRY_MS).unref() : undefined
  }

  return {
    get answers() {
      return link.answers
    },
    get failures() {
      return link.failures
    },
    poll: (id, paceMs) => {
      if (!reachable()) return alone.poll(id, paceMs)
      return new Promise((resolve) => {
        waiting.push({ id, paceMs, resolve })
        if (scheduled) return
        scheduled = true
        setImmediate(flush)
      })
    },
    hint: (id, forMs) => {
      if (!reachable()) return alone.hint(id, forMs)
      redis.set(hintKey(id), '1', 'PX', Math.ceil(forMs), 'NX').catch((error: Error) => failed(error.message))
    },
    drop: async (id) => {
      await alone.drop(id)
      if (!(await dropShared(id))) dropLater(id)
    },
    forgetHints: () => {
      alone.forgetHints()
      distrustedUntil = performance.now() + MAX_HINT_MS
    },
    close: () => {
      clearTimeout(dropTimer)
      return link.close()
    },
  }
}

/** Slot by the last two hex digits of an id, which are random; the first ones are the time. */
const BUCKET_OF = new Map(
  Array.from({ length: 256 }, (_, byte) => [byte.toString(16).padStart(2, '0'), `{${byte % BUCKETS}}`] as const),
)

function bucketOf(id: string): string {
  return BUCKET_OF.get(id.slice(-2)) ?? '{0}'
}

function paceKey(id: string): string {
  return `p${bucketOf(id)}${id}`
}

function hintKey(id: string): string {
  return `h${bucketOf(id)}${id}`
}
