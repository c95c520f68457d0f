/**
 * How many codes each application was given in this minute, here and, by what processes tell each other each second through
 * Redis, everywhere. What is told is late by that second; so a code request asks Redis for its network alone.
 */
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { mayHaveCode } from '../core/share.ts'
import type { Passage } from './limiter.ts'
import type { RedisLink } from './redis-link.ts'

export type Asking = { readonly applicationId: string; readonly network: string }

export type CodeBudget = {
  /** Takes one out of the application's budget, or says how long to wait. */
  take(by: Asking): Passage
  /** There was no code in the end. */
  giveBack(by: Asking): void
  /** Tells the others what was given here, and hears what they gave. */
  exchange(): Promise<void>
}

const MINUTE_SECONDS = 60

/** Who was given less of its limit here than this part is not worth a word to the others. */
const WORTH_TELLING = 1 / 50

const PASSED: Passage = { passed: true }

type Window = {
  endsAt: number
  here: number
  /** Of `here`, what the others know. */
  told: number
  elsewhere: number
  /** No more of them than codes were given, which twice the limit bounds. */
  readonly networks: Map<string, number>
}

export function createCodeBudget(
  limit: number,
  link: RedisLink | null,
  monotonicMs: () => number = () => performance.now(),
): CodeBudget {
  const windows = new Map<string, Window>()
  const shared =
    link && new RateLimiterRedis({ storeClient: link.redis, keyPrefix: 'a', points: limit, duration: MINUTE_SECONDS })

  const windowOf = (applicationId: string): Window => {
    const known = windows.get(applicationId)
    if (known && monotonicMs() < known.endsAt) return known
    const endsAt = monotonicMs() + MINUTE_SECONDS * 1000
    const window = { endsAt, here: 0, told: 0, elsewhere: 0, networks: new Map<string, number>() }
    windows.set(applicationId, window)
    return window
  }
  const add = (window: Window, network: string, by: 1 | -1) => {
    window.here += by
    const own = (window.networks.get(network) ?? 0) + by
    if (own > 0) window.networks.set(network, own)
    else window.networks.delete(network)
  }
  const tell = async (applicationId: string, window: Window) => {
    const news = window.here - window.told
    if (!shared || news <= 0 || window.here < limit * WORTH_TELLING) return
    const all = await shared.penalty(applicationId, news)
    window.told += news
    window.elsewhere = Math.max(0, all.consumedPoints - window.told)
    window.endsAt = monotonicMs() + all.msBeforeNext
  }

  return {
    take: ({ applicationId, network }) => {
      if (limit === 0) return PASSED
      const window = windowOf(applicationId)
      const { here, elsewhere, networks } = window
      const asked = { limit, total: here + elsewhere, here, own: networks.get(network) ?? 0 }
      if (!mayHaveCode(asked)) return { passed: false, waitMs: window.endsAt - monotonicMs() }
      add(window, network, 1)
      return PASSED
    },
    giveBack: ({ applicationId, network }) => {
      const window = windows.get(applicationId)
      if (window?.networks.has(network)) add(window, network, -1)
    },
    exchange: async () => {
      const now = monotonicMs()
      for (const [applicationId, { endsAt }] of windows) if (now >= endsAt) windows.delete(applicationId)
      if (!link?.reachable()) return
      // While Redis is away each process goes by what it gives out itself; it tells the rest later.
      await Promise.allSettled(Array.from(windows, ([applicationId, window]) => tell(applicationId, window)))
    },
  }
}
