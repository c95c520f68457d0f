/**
 * Code budgets: how many codes each application received, in this process and, exchanged through Redis once a second,
 * in the others. The exchanged counts are up to a second late; in return, a code request queries Redis only for its
 * network.
 */
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { burstOf, type Fill, fillUp, NOTHING_TAKEN, takeCode } from '../core/share.ts'
import type { LimitResult } from './limit-result.ts'
import type { RedisLink } from './redis-link.ts'

export type Asking = { readonly applicationId: string; readonly network: string }

export type CodeBudget = {
  /** Takes one code from the application's budget, or returns how long to wait. */
  take(by: Asking): LimitResult
  /** Returns a code that was not issued after all. */
  giveBack(by: Asking): void
  /** PostgreSQL may have lost codes, whose devices ask again: no code issued so far counts any more. */
  forget(): void
  /** Publishes the codes issued here and reads those of the other processes. */
  exchange(): Promise<void>
}

const MINUTE_MS = 60_000

/** Applications whose bucket is filled to less than this part are not published. */
const WORTH_TELLING = 1 / 10

const PASSED: LimitResult = { passed: true }

type Given = {
  fill: Fill
  part: number
  /** Issued here and not published yet. */
  news: number
  /** Count of all processes at our last publication. */
  told: number
  /** Codes per network in the current and in the previous minute. Bounded by the number of codes. */
  networks: Map<string, number>
  before: Map<string, number>
  rotatesAt: number
}

export function createCodeBudget(
  limit: number,
  link: RedisLink | null,
  monotonicMs: () => number = () => performance.now(),
): CodeBudget {
  const applications = new Map<string, Given>()
  const shared =
    link && limit > 0
      ? new RateLimiterRedis({ storeClient: link.redis, keyPrefix: 'a', points: limit, duration: MINUTE_MS / 1000 })
      : null

  const givenTo = (applicationId: string, now: number): Given => {
    const fresh = {
      fill: NOTHING_TAKEN,
      part: 1,
      news: 0,
      told: 0,
      networks: new Map(),
      before: new Map(),
      rotatesAt: 0,
    }
    const given: Given = applications.get(applicationId) ?? fresh
    applications.set(applicationId, given)
    if (now < given.rotatesAt) return given
    given.before = now < given.rotatesAt + MINUTE_MS ? given.networks : new Map()
    given.networks = new Map()
    given.rotatesAt = now + MINUTE_MS
    return given
  }
  const tell = async (applicationId: string, given: Given) => {
    const { news, fill } = given
    if (!shared || news === 0 || fill.main < burstOf(limit) * WORTH_TELLING) return
    given.news = 0
    const { consumedPoints: all } = await shared.penalty(applicationId, news).catch((error) => {
      given.news += news
      throw error
    })
    // The shared count restarts every minute.
    const others = Math.max(0, (all >= given.told + news ? all - given.told : all) - news)
    given.told = all
    given.part = news / (news + others)
    given.fill = fillUp(limit, given.fill, others)
  }

  return {
    take: ({ applicationId, network }) => {
      if (limit === 0) return PASSED
      const now = monotonicMs()
      const given = givenTo(applicationId, now)
      const own = (given.networks.get(network) ?? 0) + (given.before.get(network) ?? 0)
      const taken = takeCode({ limit, fill: given.fill, now, own, part: given.part })
      given.fill = taken.fill
      if (!taken.passed) return { passed: false, waitMs: taken.waitMs }
      given.networks.set(network, (given.networks.get(network) ?? 0) + 1)
      given.news += 1
      return PASSED
    },
    giveBack: ({ applicationId, network }) => {
      const given = applications.get(applicationId)
      const own = given?.networks.get(network)
      if (!given || !own) return
      given.networks.set(network, own - 1)
      given.news = Math.max(0, given.news - 1)
      given.fill = fillUp(limit, given.fill, -1)
    },
    forget: () => {
      for (const given of applications.values()) {
        // `told` and `news` stay: they say which part of the shared count is already known here.
        given.fill = NOTHING_TAKEN
        given.networks = new Map()
        given.before = new Map()
      }
    },
    exchange: async () => {
      const now = monotonicMs()
      for (const [applicationId, { rotatesAt }] of applications) {
        if (now >= rotatesAt + MINUTE_MS) applications.delete(applicationId)
      }
      if (!link?.reachable()) return
      // While Redis is unreachable, each process counts only its own codes and publishes them later.
      await Promise.allSettled(Array.from(applications, ([id, given]) => tell(id, given)))
    },
  }
}
