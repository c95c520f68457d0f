/**
 * How often codes may be asked for and dialogs opened, counted by rate-limiter-flexible: in process, or on the gate's Redis for
 * all processes together. Redis is asked once per request, and not at all for a network that is over its limit.
 *
 * While Redis does not answer, each process goes by its own count: nobody is let in for the asking, nobody is kept out for
 * it. Polls are not counted here.
 */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { type CodeBudget, createCodeBudget } from './code-budget.ts'
import type { LimitResult } from './limit-result.ts'
import type { RedisLink } from './redis-link.ts'

export type Limiter = {
  /** Of networks as core/network.ts cuts them. Null: nobody knows where from, and all of those are one network. */
  codeRequest(network: string | null): Promise<LimitResult>
  dialog(network: string | null): Promise<LimitResult>
  /** Of applications: what they are given, not what they ask for. */
  readonly codes: CodeBudget
}

/** Per minute; 0: none. */
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
      // From then on the process knows by itself, until the minute is over.
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
