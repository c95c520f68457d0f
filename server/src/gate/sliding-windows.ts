/**
 * Sliding windows per key, by the monotonic clock: setting the clock of the server neither lifts a limit nor prolongs
 * it. In process, and on Redis for all processes together.
 */
import { slide, sumOf, type WindowCount, waitOf } from '../core/sliding-window.ts'
import type { RedisLink } from './redis-link.ts'

/** Result of a rate limit. */
export type LimitResult = { readonly passed: true } | { readonly passed: false; readonly waitMs: number }

export const PASSED: LimitResult = { passed: true }

export type SlidingWindows = {
  sum(key: string): number
  add(key: string, times: 1 | -1): void
  /** Counts one, unless the sum has reached the limit. */
  take(key: string, limit: number): LimitResult
}

export function createSlidingWindows(
  windowMs: number,
  monotonicMs: () => number = () => performance.now(),
): SlidingWindows {
  /** The key counted last is last. */
  const counts = new Map<string, WindowCount>()
  const current = (key: string) => slide(counts.get(key), monotonicMs(), windowMs)
  const add: SlidingWindows['add'] = (key, times) => {
    const count = current(key)
    counts.delete(key)
    counts.set(key, { ...count, current: Math.max(0, count.current + times) })
    for (const [oldest, { startsAt }] of counts) {
      if (monotonicMs() < startsAt + 2 * windowMs) break
      counts.delete(oldest)
    }
  }
  return {
    sum: (key) => sumOf(current(key), monotonicMs(), windowMs),
    add,
    take: (key, limit) => {
      const waitMs = waitOf(current(key), limit, monotonicMs(), windowMs)
      if (waitMs > 0) return { passed: false, waitMs }
      add(key, 1)
      return PASSED
    },
  }
}

/** `slide`, `sumOf` and `waitOf` of core/sliding-window.ts, by the clock of Redis. Part of the scripts of this folder. */
export const SLIDING_WINDOW_LUA = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function read(key, window)
  local kept = redis.call('HMGET', key, 'startsAt', 'current', 'previous')
  local startsAt, current, previous = tonumber(kept[1]), tonumber(kept[2]), tonumber(kept[3])
  if not startsAt or now >= startsAt + 2 * window then startsAt, current, previous = now, 0, 0
  elseif now >= startsAt + window then startsAt, current, previous = startsAt + window, 0, current end
  return { startsAt = startsAt, current = current, previous = previous,
    sum = math.floor(current + previous * (1 - (now - startsAt) / window)) }
end
local function add(key, window, count, times)
  local current = math.max(0, count.current + times)
  redis.call('HSET', key, 'startsAt', count.startsAt, 'current', current, 'previous', count.previous)
  redis.call('PEXPIRE', key, 2 * window)
end
local function wait(count, window, limit)
  if count.sum < limit then return 0 end
  local room = limit - count.current
  local freeAt = count.startsAt + window
  if room > 0 then freeAt = count.startsAt + window * (1 - room / count.previous) end
  return math.max(1, math.ceil(freeAt - now))
end`

/** KEYS: one; ARGV: window, limit. Returns how long to wait; 0: it was counted. */
const TAKE_SCRIPT = `${SLIDING_WINDOW_LUA}
local window = tonumber(ARGV[1])
local count = read(KEYS[1], window)
local waitMs = wait(count, window, tonumber(ARGV[2]))
if waitMs == 0 then add(KEYS[1], window, count, 1) end
return waitMs`

type TakingRedis = { takeFromWindow(keys: 1, key: string, windowMs: number, limit: number): Promise<number> }

/**
 * Counts on Redis, which is called once per request, and not at all for a key that it refused before. While Redis does
 * not answer, this process counts alone: the limit neither opens nor closes.
 */
export function createSharedLimit(
  { prefix, windowMs, limit }: { readonly prefix: string; readonly windowMs: number; readonly limit: number },
  link: RedisLink | null,
): (key: string) => Promise<LimitResult> {
  const alone = createSlidingWindows(windowMs)
  link?.redis.defineCommand('takeFromWindow', { lua: TAKE_SCRIPT })
  const redis = link?.redis as TakingRedis | undefined
  /** Keys that Redis refused, and until when. */
  const refused = new Map<string, number>()

  return async (key) => {
    if (!link?.reachable() || !redis) return alone.take(key, limit)
    const now = performance.now()
    const refusedMs = (refused.get(key) ?? now) - now
    if (refusedMs > 0) return { passed: false, waitMs: refusedMs }
    try {
      const waitMs = await redis.takeFromWindow(1, `${prefix}:${key}`, windowMs, limit)
      link.succeeded()
      if (waitMs === 0) return PASSED
      for (const [oldest, until] of refused) {
        if (now < until) break
        refused.delete(oldest)
      }
      refused.set(key, now + waitMs)
      return { passed: false, waitMs }
    } catch (error) {
      link.failed((error as Error).message)
      return alone.take(key, limit)
    }
  }
}
