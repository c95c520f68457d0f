/** Evidence is counted in windows: which ones, and which were overloaded. suspension.ts judges the result. */
import type { Thresholds, Window } from './suspension.ts'

const MINUTE_MS = 60_000

export type Span = { readonly from: number; readonly to: number; readonly windowMs: number }

/** The complete windows before `now`. */
export function spanOf(now: number, { windowMinutes, windows }: Thresholds): Span {
  const windowMs = windowMinutes * MINUTE_MS
  const to = Math.floor(now / windowMs) * windowMs
  return { from: to - windows * windowMs, to, windowMs }
}

export type Overloads = {
  /**
   * Overloaded minutes, by their start. Each counts for the lifetime of a code, because a code keeps the early polls it
   * collected.
   */
  readonly overloads: readonly number[]
  readonly codeLifetimeMs: number
}

export function markOverloads(
  windows: readonly Omit<Window, 'overloaded'>[],
  { overloads, codeLifetimeMs }: Overloads,
  windowMs: number,
): readonly Window[] {
  return windows.map((window) => {
    const { startsAt } = window
    const touches = (minute: number) => minute < startsAt + windowMs && minute + MINUTE_MS + codeLifetimeMs > startsAt
    return { ...window, overloaded: overloads.some(touches) }
  })
}
