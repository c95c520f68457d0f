/**
 * Limit of codes per application: one token bucket (core/token-bucket.ts), on Redis for all processes together. While
 * Redis does not answer, this process counts alone.
 */
import { capacityOf, fullBucket, MAX_RECEIVED, refundToken, type TokenBucket, takeToken } from '../core/token-bucket.ts'
import type { RedisLink } from './redis-link.ts'
import { createSlidingWindows, type LimitResult, PASSED, SLIDING_WINDOW_LUA } from './sliding-windows.ts'

export type CodeKey = { readonly applicationId: string; readonly network: string }

export type CodeLimit = {
  /** Takes a token for one code. */
  take(key: CodeKey): Promise<LimitResult>
  /** The code was not issued after all. */
  refund(key: CodeKey): Promise<void>
}

/**
 * `takeToken` or `refundToken`, and the codes that the network received from this application. ARGV: window, limit per
 * minute, capacity, 1 to take and -1 to refund.
 */
const BUCKET_SCRIPT = `${SLIDING_WINDOW_LUA}
local window, limit, capacity, times = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'reserve', 'at')
local refilled = limit * math.max(0, now - (tonumber(kept[3]) or now)) / 60000
local tokens = math.min(capacity, (tonumber(kept[1]) or capacity) + refilled)
local reserve = math.min(capacity, (tonumber(kept[2]) or capacity) + refilled)
local received = read(KEYS[2], window)
local passed = 1
if times < 0 or tokens >= 1 then tokens = math.min(capacity, tokens - times)
else
  local used = (capacity - reserve + 1) / capacity
  if reserve >= 1 and received.sum < math.min(${MAX_RECEIVED}, math.max(1, 1 / (2 * used))) then reserve = reserve - 1
  else passed = 0 end
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'reserve', reserve, 'at', now)
redis.call('PEXPIRE', KEYS[1], window)
if passed == 1 then add(KEYS[2], window, received, times) end
return passed`

type BucketRedis = {
  tokenBucket(
    keys: 2,
    bucket: string,
    received: string,
    windowMs: number,
    limit: number,
    capacity: number,
    times: 1 | -1,
  ): Promise<0 | 1>
}

const MINUTE_MS = 60_000

/** Time in which the bucket earns one token, at least. */
const REFUSED: LimitResult = { passed: false, waitMs: 2_000 }

export function createCodeLimit(limit: number, link: RedisLink | null): CodeLimit {
  if (limit === 0) return { take: async () => PASSED, refund: async () => {} }
  const capacity = capacityOf(limit)
  link?.redis.defineCommand('tokenBucket', { lua: BUCKET_SCRIPT })
  const redis = link?.redis as BucketRedis | undefined
  const own = createOwnCodeLimit(limit)

  /** Null while Redis does not answer. */
  const shared = async ({ applicationId, network }: CodeKey, times: 1 | -1): Promise<0 | 1 | null> => {
    if (!link?.reachable() || !redis) return null
    // The braces place both keys in one slot of a cluster.
    const bucket = `a:{${applicationId}}`
    try {
      const passed = await redis.tokenBucket(2, bucket, `${bucket}:${network}`, MINUTE_MS, limit, capacity, times)
      link.succeeded()
      return passed
    } catch (error) {
      link.failed((error as Error).message)
      return null
    }
  }
  return {
    take: async (key) => {
      const passed = await shared(key, 1)
      if (passed === null) return own.take(key)
      return passed === 1 ? PASSED : REFUSED
    },
    refund: async (key) => {
      if ((await shared(key, -1)) === null) own.refund(key)
    },
  }
}

export function createOwnCodeLimit(limit: number, monotonicMs: () => number = () => performance.now()) {
  /** The application that took last is last. */
  const buckets = new Map<string, TokenBucket>()
  const received = createSlidingWindows(MINUTE_MS, monotonicMs)
  const keyOf = ({ applicationId, network }: CodeKey) => `${applicationId} ${network}`
  return {
    take: (key: CodeKey): LimitResult => {
      const now = monotonicMs()
      const { applicationId } = key
      const bucket = buckets.get(applicationId) ?? fullBucket(limit, now)
      const taken = takeToken({ limit, bucket, now, received: received.sum(keyOf(key)) })
      buckets.delete(applicationId)
      buckets.set(applicationId, taken.bucket)
      for (const [oldest, { at }] of buckets) {
        if (now < at + MINUTE_MS) break
        buckets.delete(oldest)
      }
      if (!taken.passed) return REFUSED
      received.add(keyOf(key), 1)
      return PASSED
    },
    refund: (key: CodeKey): void => {
      const bucket = buckets.get(key.applicationId)
      if (bucket) buckets.set(key.applicationId, refundToken(limit, bucket))
      received.add(keyOf(key), -1)
    },
  }
}
