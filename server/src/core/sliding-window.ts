/**
 * Sliding window: counts of the current window and, in proportion to what is left of it, of the one before. Two numbers
 * per key, and no moment at which a whole limit is free again.
 */
export type WindowCount = { readonly startsAt: number; readonly current: number; readonly previous: number }

/** The count at this time: later windows have begun since it was stored. */
export function slide(count: WindowCount | undefined, now: number, windowMs: number): WindowCount {
  if (!count || now >= count.startsAt + 2 * windowMs) return { startsAt: now, current: 0, previous: 0 }
  if (now < count.startsAt + windowMs) return count
  return { startsAt: count.startsAt + windowMs, current: 0, previous: count.current }
}

/** Expects a count that `slide` returned for the same time. */
export function sumOf({ startsAt, current, previous }: WindowCount, now: number, windowMs: number): number {
  return Math.floor(current + previous * (1 - (now - startsAt) / windowMs))
}

/** How long until the sum is below the limit, if nothing more is counted; 0: it is. */
export function waitOf(count: WindowCount, limit: number, now: number, windowMs: number): number {
  if (sumOf(count, now, windowMs) < limit) return 0
  const { startsAt, current, previous } = count
  const room = limit - current
  const freeAt = room > 0 ? startsAt + windowMs * (1 - room / previous) : startsAt + windowMs
  return Math.max(1, Math.ceil(freeAt - now))
}
