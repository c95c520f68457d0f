/**
 * Rate limits on code requests and dialogs, counted by rate-limiter-flexible: in process, or on the gate's Redis for
 * all processes together. Redis is queried once per request, and not at all for a network over its limit.
 *
 * While Redis does not answer, each process uses its own count: the limits neither open nor close. Polls are not
 * counted here.
 */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { type CodeBudget, createCodeBudget } from './code-budget.ts'
import type { LimitResult } from './limit-result.ts'
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

const MINUTE_SECONDS = 60

const PASSED: LimitResult = { passed: true }

export const NOWHERE = 'nowhere'

export function createLimiter(limits: Limits, link: RedisLink | null): Limiter {
  return {
    codeRequest: countPerNetwork('c', limits.codeRequestsPerNetwork, link),
    dialog: countPerNetwork('d', limits.dialogsPerNetwork, link),
    codes: createCodeBudget(limits.codeRequestsPerApplication, link),
  }
}

function countPerNetwork(keyPrefix: string, points: number, link: RedisLink | null): Limiter['codeRequest'] {
  if (points === 0) return async () => PASSED
  const window = { keyPrefix, points, duration: MINUTE_SECONDS }
  const alone = new RateLimiterMemory(window)
  const shared =
    link &&
    new RateLimiterRedis({
      ...window,
      storeClient: link.redis,
      insuranceLimiter: alone,
      rejectIfRedisNotReady: true,
      // Once over the limit, the process rejects from memory until the minute is over.
      inMemoryBlockOnConsumed: points,
    })
  return async (network) => {
    const count = shared && link.reachable() ? shared : alone
    try {
      await count.consume(network ?? NOWHERE)
      return PASSED
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      return { passed: false, waitMs: refused.msBeforeNext }
    }
  }
}
