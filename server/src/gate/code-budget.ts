/**
 * Code budgets: how many codes each application received, in this process and, exchanged through Redis once a second,
 * in the others. The exchanged counts are up to a second late; in return, a code request queries Redis only for its
 * network.
 */
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { burstOf, EMPTY_FILL, type Fill, fillUp, takeCode } from '../core/share.ts'
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

/** Applications whose bucket is filled to less than this part are not published. */
const MIN_PUBLISHED_FILL = 1 / 10

const PASSED: LimitResult = { passed: true }

type ApplicationBudget = {
  fill: Fill
  /** Share of this process in the codes that all processes issued, as of the last exchange. */
  part: number
  /** Issued here and not published yet. */
  unpublished: number
  /** Count of all processes at our last publication. */
  lastSharedCount: number
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
      lastSharedCount: 0,
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
    const { unpublished, fill } = budget
    if (!shared || unpublished === 0 || fill.main < burstOf(limit) * MIN_PUBLISHED_FILL) return
    budget.unpublished = 0
    const { consumedPoints: sharedCount } = await shared.penalty(applicationId, unpublished).catch((error) => {
      budget.unpublished += unpublished
      throw error
    })
    // The shared count restarts every minute.
    const sinceLast =
      sharedCount >= budget.lastSharedCount + unpublished ? sharedCount - budget.lastSharedCount : sharedCount
    const others = Math.max(0, sinceLast - unpublished)
    budget.lastSharedCount = sharedCount
    budget.part = unpublished / (unpublished + others)
    budget.fill = fillUp(limit, budget.fill, others)
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
      budget.unpublished += 1
      return PASSED
    },
    giveBack: ({ applicationId, network }) => {
      const budget = applications.get(applicationId)
      const own = budget?.networks.get(network)
      if (!budget || !own) return
      budget.networks.set(network, own - 1)
      budget.unpublished = Math.max(0, budget.unpublished - 1)
      budget.fill = fillUp(limit, budget.fill, -1)
    },
    forget: () => {
      for (const budget of applications.values()) {
        // `lastSharedCount` and `unpublished` stay: they tell which part of the shared count is already known here.
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
      // While Redis is unreachable, each process counts only its own codes and publishes them later.
      await Promise.allSettled(Array.from(applications, ([id, budget]) => publish(id, budget)))
    },
  }
}
