/**
 * Limit of codes per application: one token bucket (core/token-bucket.ts), on Redis for all processes together. While
 * Redis does not answer, this process counts alone.
 */
import { capacityOf, fullBucket, MAX_RECEIVED, type TokenBucket, takeToken } from '../core/token-bucket.ts'
import type { RedisLink } from './redis-link.ts'
import { createSlidingWindows, type LimitResult, PASSED, SLIDING_WINDOW_LUA } from './sliding-windows.ts'

export type CodeKey = { readonly applicationId: string; readonly network: string }

/** `takeToken`, and the codes that the network received from this application. ARGV: window, limit per minute, capacity. */
const TAKE_SCRIPT = `${SLIDING_WINDOW_LUA}
local window, limit, capacity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'reserve', 'at')
local refilled = limit * math.max(0, now - (tonumber(kept[3]) or now)) / 60000
local tokens = math.min(capacity, (tonumber(kept[1]) or capacity) + refilled)
local reserve = math.min(capacity, (tonumber(kept[2]) or capacity) + refilled)
local received = read(KEYS[2], window)
local passed = 1
if tokens >= 1 then tokens = tokens - 1
else
  local used = (capacity - reserve + 1) / capacity
  if reserve >= 1 and received.sum < math.min(${MAX_RECEIVED}, math.max(1, 1 / (2 * used))) then reserve = reserve - 1
  else passed = 0 end
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'reserve', reserve, 'at', now)
redis.call('PEXPIRE', KEYS[1], window)
if passed == 1 then add(KEYS[2], window, received) end
return passed`

type TakingRedis = {
  takeCode(keys: 2, bucket: string, received: string, windowMs: number, limit: number, capacity: number): Promise<0 | 1>
}

const MINUTE_MS = 60_000

/** Time in which the bucket earns one token, at least. */
const REFUSED: LimitResult = { passed: false, waitMs: 2_000 }

export function createCodeLimit(limit: number, link: RedisLink | null): (key: CodeKey) => Promise<LimitResult> {
  if (limit === 0) return async () => PASSED
  const capacity = capacityOf(limit)
  link?.redis.defineCommand('takeCode', { lua: TAKE_SCRIPT })
  const redis = link?.redis as TakingRedis | undefined
  const alone = createOwnCodeLimit(limit)

  return async ({ applicationId, network }) => {
    if (!link?.reachable() || !redis) return alone({ applicationId, network })
    // The braces place both keys in one slot of a cluster.
    const bucket = `a:{${applicationId}}`
    try {
      const passed = await redis.takeCode(2, bucket, `${bucket}:${network}`, MINUTE_MS, limit, capacity)
      link.succeeded()
      return passed === 1 ? PASSED : REFUSED
    } catch (error) {
      link.failed((error as Error).message)
      return alone({ applicationId, network })
    }
  }
}

export function createOwnCodeLimit(
  limit: number,
  monotonicMs: () => number = () => performance.now(),
): (key: CodeKey) => LimitResult {
  /** The application that took last is last. */
  const buckets = new Map<string, TokenBucket>()
  const received = createSlidingWindows(MINUTE_MS, monotonicMs)
  return ({ applicationId, network }) => {
    const now = monotonicMs()
    const key = `${applicationId} ${network}`
    const bucket = buckets.get(applicationId) ?? fullBucket(limit, now)
    const taken = takeToken({ limit, bucket, now, received: received.sum(key) })
    buckets.delete(applicationId)
    buckets.set(applicationId, taken.bucket)
    for (const [oldest, { at }] of buckets) {
      if (now < at + MINUTE_MS) break
      buckets.delete(oldest)
    }
    if (!taken.passed) return REFUSED
    received.add(key, 1)
    return PASSED
  }
}
