/**
 * Counts per key in windows of a minute, by the monotonic clock: setting the clock of the server neither lifts a limit
 * nor prolongs it.
 */
import type { LimitResult } from './limit-result.ts'

export type MinuteWindows = {
  /** Counts one, unless the key is over its limit. */
  take(key: string): LimitResult
  /** Does not count one after all. */
  giveBack(key: string): void
  /** The key is over its limit for this long, whatever was counted here. */
  fill(key: string, forMs: number): void
  /** How long the key is over its limit; 0: it is not. */
  waitMs(key: string): number
}

export const MINUTE_MS = 60_000

type Window = { count: number; readonly endsAt: number }

export function createMinuteWindows(limit: number, monotonicMs: () => number = () => performance.now()): MinuteWindows {
  /** Oldest first. A shorter window behind a longer one is removed with it. */
  const windows = new Map<string, Window>()

  const open = (key: string, window: Window): Window => {
    windows.delete(key)
    windows.set(key, window)
    return window
  }
  const current = (key: string, now: number): Window | undefined => {
    for (const [old, { endsAt }] of windows) {
      if (now < endsAt) break
      windows.delete(old)
    }
    const window = windows.get(key)
    return window && now < window.endsAt ? window : undefined
  }
  const waitMs = (key: string): number => {
    const now = monotonicMs()
    const window = current(key, now)
    return window && window.count >= limit ? window.endsAt - now : 0
  }

  return {
    take: (key) => {
      const left = waitMs(key)
      if (left > 0) return { passed: false, waitMs: left }
      const now = monotonicMs()
      const window = current(key, now) ?? open(key, { count: 0, endsAt: now + MINUTE_MS })
      window.count += 1
      return { passed: true }
    },
    giveBack: (key) => {
      const window = current(key, monotonicMs())
      if (window) window.count = Math.max(0, window.count - 1)
    },
    fill: (key, forMs) => void open(key, { count: limit, endsAt: monotonicMs() + forMs }),
    waitMs,
  }
}
