/**
 * How many codes each application was given: here, and, by what processes tell each other each second through Redis, elsewhere. What
 * is told is late by that second; so a code request asks Redis for its network alone.
 */
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { burstOf, type Fill, fillUp, NOTHING_TAKEN, takeCode } from '../core/share.ts'
import type { LimitResult } from './limit-result.ts'
import type { RedisLink } from './redis-link.ts'

export type Asking = { readonly applicationId: string; readonly network: string }

export type CodeBudget = {
  /** Takes one out of the application's budget, or says how long to wait. */
  take(by: Asking): LimitResult
  /** There was no code in the end. */
  giveBack(by: Asking): void
  /** Tells the others what was given here, and hears what they gave. */
  exchange(): Promise<void>
}

const MINUTE_MS = 60_000

/** An application whose bucket is emptier than this part is not worth a word to the others. */
const WORTH_TELLING = 1 / 10

const PASSED: LimitResult = { passed: true }

type Given = {
  fill: Fill
  part: number
  /** Given here and not told yet. */
  news: number
  /** Told by all, as it was when we told last. */
  told: number
  /** What each network was given in this minute and in the one before: at most as many as there were codes. */
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
    // The count of all begins anew each minute.
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
    exchange: async () => {
      const now = monotonicMs()
      for (const [applicationId, { rotatesAt }] of applications) {
        if (now >= rotatesAt + MINUTE_MS) applications.delete(applicationId)
      }
      if (!link?.reachable()) return
      // While Redis is away each process goes by what it gives out itself; it tells the rest later.
      await Promise.allSettled(Array.from(applications, ([id, given]) => tell(id, given)))
    },
  }
}
