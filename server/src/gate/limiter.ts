/**
 * Rate limits on code requests and dialogs, counted in process, or by rate-limiter-flexible on the gate's Redis for all
 * processes together. Redis is queried once per request, and not at all for a network over its limit.
 *
 * While Redis does not answer, each process uses its own count: the limits neither open nor close. Polls are not
 * counted here.
 */
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { type CodeBudget, createCodeBudget } from './code-budget.ts'
import type { LimitResult } from './limit-result.ts'
import { createMinuteWindows, MINUTE_MS } from './minute-windows.ts'
import type { RedisLink } from './redis-link.ts'

export type Limiter = {
  /** Per network (core/network.ts). Null: unknown; all such requests count as one network. */
  codeRequest(network: string | null): Promise<LimitResult>
  dialog(network: string | null): Promise<LimitResult>
  /** Per application: counts issued codes, not requests. */
  readonly codes: CodeBudget
}

/** Per minute; 0: unlimited. */
export type Limits = {
  readonly codeRequestsPerNetwork: number
  readonly codeRequestsPerApplication: number
  readonly dialogsPerNetwork: number
}

const PASSED: LimitResult = { passed: true }

/** Counts all requests whose network is unknown as one. */
export const UNKNOWN_NETWORK = 'nowhere'

export function createLimiter(limits: Limits, link: RedisLink | null): Limiter {
  return {
    codeRequest: countPerNetwork('c', limits.codeRequestsPerNetwork, link),
    dialog: countPerNetwork('d', limits.dialogsPerNetwork, link),
    codes: createCodeBudget(limits.codeRequestsPerApplication, link),
  }
}

function countPerNetwork(keyPrefix: string, points: number, link: RedisLink | null): Limiter['codeRequest'] {
  if (points === 0) return async () => PASSED
  const alone = createMinuteWindows(points)
  /** Networks over the shared limit: refused without a query until their minute is over. */
  const over = createMinuteWindows(points)
  const settings = { keyPrefix, points, duration: MINUTE_MS / 1000, rejectIfRedisNotReady: true }
  const shared = link && new RateLimiterRedis({ ...settings, storeClient: link.redis })
  return async (network) => {
    const key = network ?? UNKNOWN_NETWORK
    if (!shared || !link.reachable()) return alone.take(key)
    const waitMs = over.waitMs(key)
    if (waitMs > 0) return { passed: false, waitMs }
    try {
      const { remainingPoints, msBeforeNext } = await shared.consume(key)
      link.succeeded()
      if (remainingPoints === 0) over.fill(key, msBeforeNext)
      return PASSED
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) {
        link.failed((refused as Error).message)
        return alone.take(key)
      }
      over.fill(key, refused.msBeforeNext)
      return { passed: false, waitMs: refused.msBeforeNext }
    }
  }
}
