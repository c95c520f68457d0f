/**
 * Code budgets: how many codes each application received, in this process and, exchanged through Redis once a second,
 * in the others. The exchanged counts are up to a second late; in return, a code request queries Redis only for its
 * network.
 */
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { burstOf, EMPTY_FILL, exchangeLevel, type Fill, refundCode, takeCode } from '../core/share.ts'
import type { LimitResult } from './limit-result.ts'
import type { RedisLink } from './redis-link.ts'

export type BudgetKey = { readonly applicationId: string; readonly network: string }

export type CodeBudget = {
  /** Takes one code from the application's budget, or returns how long to wait. */
  take(key: BudgetKey): LimitResult
  /** Returns a code that was not issued after all. */
  giveBack(key: BudgetKey): void
  /** PostgreSQL may have lost codes, whose devices ask again: no code issued so far counts any more. */
  forget(): void
  /** Publishes the codes issued here and reads those of the other processes. */
  exchange(): Promise<void>
}

const MINUTE_MS = 60_000

/** Codes that are published together, as part of a burst: a quiet application costs no call per second. */
const MIN_PUBLISHED = 1 / 10

const PASSED: LimitResult = { passed: true }

type ApplicationBudget = {
  fill: Fill
  /** Share of this process in the codes that all processes issued before the last exchange. */
  part: number
  /** Issued here from the main bucket, and not published yet. */
  unpublished: number
  /** The last exchange: level of the bucket, count of all processes, time. Null: there was none yet. */
  exchanged: { readonly level: number; readonly sharedCount: number; readonly at: number } | null
  /** Codes per network in the current and in the previous minute. Bounded by the number of codes. */
  networks: Map<string, number>
  previousNetworks: Map<string, number>
  rotatesAt: number
}

export function createCodeBudget(
  limit: number,
  link: RedisLink | null,
  monotonicMs: () => number = () => performance.now(),
): CodeBudget {
  const applications = new Map<string, ApplicationBudget>()
  const shared =
    link && limit > 0
      ? new RateLimiterRedis({ storeClient: link.redis, keyPrefix: 'a', points: limit, duration: MINUTE_MS / 1000 })
      : null

  const budgetOf = (applicationId: string, now: number): ApplicationBudget => {
    const fresh = {
      fill: EMPTY_FILL,
      part: 1,
      unpublished: 0,
      exchanged: null,
      networks: new Map(),
      previousNetworks: new Map(),
      rotatesAt: 0,
    }
    const budget: ApplicationBudget = applications.get(applicationId) ?? fresh
    applications.set(applicationId, budget)
    if (now < budget.rotatesAt) return budget
    budget.previousNetworks = now < budget.rotatesAt + MINUTE_MS ? budget.networks : new Map()
    budget.networks = new Map()
    budget.rotatesAt = now + MINUTE_MS
    return budget
  }
  const publish = async (applicationId: string, budget: ApplicationBudget) => {
    if (!shared || budget.unpublished < Math.max(1, burstOf(limit) * MIN_PUBLISHED)) return
    // After failed exchanges there may be more, most of which has drained.
    const unpublished = Math.min(budget.unpublished, burstOf(limit))
    budget.unpublished = 0
    const { consumedPoints: sharedCount, msBeforeNext } = await shared
      .penalty(applicationId, unpublished)
      .catch((error) => {
        budget.unpublished += unpublished
        throw error
      })
    const now = monotonicMs()
    const last = budget.exchanged ?? { level: 0, sharedCount: 0, at: now - (MINUTE_MS - msBeforeNext) }
    // The shared count restarts every minute.
    const isContinued = sharedCount >= last.sharedCount + unpublished
    const issued = isContinued ? sharedCount - last.sharedCount : sharedCount
    budget.part = unpublished / issued
    const { level, at } = last
    budget.fill = exchangeLevel(limit, budget.fill, { level, issued, sinceMs: now - at, now, part: budget.part })
    budget.exchanged = { level: budget.fill.main, sharedCount, at: now }
  }

  return {
    take: ({ applicationId, network }) => {
      if (limit === 0) return PASSED
      const now = monotonicMs()
      const budget = budgetOf(applicationId, now)
      const own = (budget.networks.get(network) ?? 0) + (budget.previousNetworks.get(network) ?? 0)
      const taken = takeCode({ limit, fill: budget.fill, now, own, part: budget.part })
      budget.fill = taken.fill
      if (!taken.passed) return { passed: false, waitMs: taken.waitMs }
      budget.networks.set(network, (budget.networks.get(network) ?? 0) + 1)
      if (taken.from === 'main') budget.unpublished += 1
      return PASSED
    },
    giveBack: ({ applicationId, network }) => {
      const budget = applications.get(applicationId)
      const own = budget?.networks.get(network)
      if (!budget || !own) return
      budget.networks.set(network, own - 1)
      budget.unpublished = Math.max(0, budget.unpublished - 1)
      budget.fill = refundCode(budget.fill)
    },
    forget: () => {
      for (const budget of applications.values()) {
        // The shared count and `unpublished` stay: they tell which part of the shared count is already known here.
        if (budget.exchanged) budget.exchanged = { ...budget.exchanged, level: 0 }
        budget.fill = EMPTY_FILL
        budget.networks = new Map()
        budget.previousNetworks = new Map()
      }
    },
    exchange: async () => {
      const now = monotonicMs()
      for (const [applicationId, { rotatesAt }] of applications) {
        if (now >= rotatesAt + MINUTE_MS) applications.delete(applicationId)
      }
      if (!link?.reachable()) return
      // While Redis is unreachable, each process counts only its own codes.
      await Promise.allSettled(Array.from(applications, ([id, budget]) => publish(id, budget)))
    },
  }
}
