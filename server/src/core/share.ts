/**
 * How many codes an application may have, and who still gets one when it has had them. docs/interface.md, "Limits".
 *
 * A bucket that drains evenly: a burst fits, then as many as the limit says. So an application that floods the service gets its
 * limit as a steady trickle, not as a minute's worth at once that nobody else can get past.
 *
 * Its secret ships in its devices, so a thief may hold it too, in many networks at once. Therefore a second bucket of the same
 * size is kept for networks that have had little: the fuller it is, the less they may have had, and its upper half is for those
 * that have had nothing. Whoever asks for much can use up the first, but not what is kept for those who ask for little
 * (docs/decisions/0022-limits-and-shedding.md).
 */
export type Fill = {
  /** Codes that have not drained yet. */
  readonly main: number
  readonly reserve: number
  readonly at: number
}

export const NOTHING_TAKEN: Fill = { main: 0, reserve: 0, at: 0 }

export type Asked = {
  /** Codes per minute. */
  readonly limit: number
  readonly fill: Fill
  readonly now: number
  /** What the network that asks was given lately. */
  readonly own: number
  /** Where several processes share the limit: which part of it this one gives out, from 0 to 1. It keeps that part of the reserve. */
  readonly part: number
}

export type Taken =
  | { readonly passed: true; readonly fill: Fill }
  | { readonly passed: false; readonly fill: Fill; readonly waitMs: number }

const MINUTE_MS = 60_000

/** So much of the limit fits at once; and so long does a full bucket take to drain. */
const BURST_MS = 2_000

/** Who has had more than this lately has had their part, however much is left of the reserve. */
const LITTLE = 5

export function burstOf(limit: number): number {
  return Math.max(1, (limit * BURST_MS) / MINUTE_MS)
}

export function takeCode({ limit, fill, now, own, part }: Asked): Taken {
  const burst = burstOf(limit)
  const drained = drain(limit, fill, now, part)
  if (drained.main + 1 <= burst) return { passed: true, fill: { ...drained, main: drained.main + 1 } }
  const full = (drained.reserve + 1) / Math.max(1, burst * part)
  if (full <= 1 && own < Math.min(LITTLE, Math.max(1, 1 / (2 * full)))) {
    return { passed: true, fill: { ...drained, reserve: drained.reserve + 1 } }
  }
  return { passed: false, fill: drained, waitMs: BURST_MS }
}

/** Codes that were given elsewhere, or that came to nothing here. Never more than is full, so that it is over soon after. */
export function fillUp(limit: number, fill: Fill, by: number): Fill {
  return { ...fill, main: Math.min(Math.max(0, fill.main + by), Math.max(fill.main, burstOf(limit))) }
}

function drain(limit: number, { main, reserve, at }: Fill, now: number, part: number): Fill {
  const gone = (limit * Math.max(0, now - at)) / MINUTE_MS
  return { main: Math.max(0, main - gone), reserve: Math.max(0, reserve - gone * part), at: now }
}
