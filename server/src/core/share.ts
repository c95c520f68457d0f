/**
 * Code budget of one application: a leaky bucket, with a reserve for networks that received few codes.
 * docs/interface.md, "Limits".
 *
 * The bucket drains evenly: a burst fits, then codes pass at the rate of the limit. An application that floods the
 * service gets its limit as a steady trickle, not as a minute's worth at once that delays all other requests.
 *
 * The secret of an application ships in its devices, so a thief may use it too, from many networks at once. Therefore a
 * second bucket of the same size is reserved for networks that received few codes: the fuller it is, the fewer they may
 * have received, and its upper half is for networks that received none. Heavy requesters can exhaust the main bucket,
 * but not the reserve (docs/decisions/0022-limits-and-shedding.md).
 */
export type Fill = {
  /** Codes that have not drained yet. */
  readonly main: number
  readonly reserve: number
  readonly at: number
}

export const EMPTY_FILL: Fill = { main: 0, reserve: 0, at: 0 }

export type TakeRequest = {
  /** Codes per minute. */
  readonly limit: number
  readonly fill: Fill
  readonly now: number
  /** Codes that the requesting network received lately. */
  readonly own: number
  /** This process's part of the limit, from 0 to 1, where several processes share it. Its reserve is scaled by it. */
  readonly part: number
}

export type TakeResult =
  | { readonly passed: true; readonly fill: Fill; readonly from: 'main' | 'reserve' }
  | { readonly passed: false; readonly fill: Fill; readonly waitMs: number }

const MINUTE_MS = 60_000

/** The burst, as time at the rate of the limit; also the time in which a full bucket drains. */
const BURST_MS = 2_000

/** Limit of a level, as time at the rate of the limit: the longest wait after processes could not exchange their counts. */
const MAX_LEVEL_MS = 30_000

/** A network that received this many codes lately gets none from the reserve, however much is left. */
const MAX_CODES_FOR_RESERVE = 5

export function burstOf(limit: number): number {
  return Math.max(1, (limit * BURST_MS) / MINUTE_MS)
}

export function takeCode({ limit, fill, now, own, part }: TakeRequest): TakeResult {
  const burst = burstOf(limit)
  const drained = drain(limit, fill, now, part)
  if (drained.main + 1 <= burst) {
    return { passed: true, from: 'main', fill: { ...drained, main: drained.main + 1 } }
  }
  const reserveLevel = (drained.reserve + 1) / Math.max(1, burst * part)
  if (reserveLevel <= 1 && own < Math.min(MAX_CODES_FOR_RESERVE, Math.max(1, 1 / (2 * reserveLevel)))) {
    return { passed: true, from: 'reserve', fill: { ...drained, reserve: drained.reserve + 1 } }
  }
  return { passed: false, fill: drained, waitMs: BURST_MS }
}

export function refundCode(fill: Fill): Fill {
  return { ...fill, main: Math.max(0, fill.main - 1) }
}

export type Exchange = {
  /** Of the bucket, at the exchange before this one. */
  readonly level: number
  /** Codes from the main bucket since then, of all processes. */
  readonly issued: number
  readonly sinceMs: number
  readonly now: number
  readonly part: number
}

/**
 * Level of the bucket that several processes share. It may exceed a full one: each process issued what had drained
 * without knowing of the others, and all wait until that has drained once.
 */
export function exchangeLevel(limit: number, fill: Fill, { level, issued, sinceMs, now, part }: Exchange): Fill {
  const drained = drain(limit, fill, now, part)
  const ofAll = Math.min(level + issued - (limit * sinceMs) / MINUTE_MS, (limit * MAX_LEVEL_MS) / MINUTE_MS)
  return { ...drained, main: Math.max(drained.main, ofAll) }
}

function drain(limit: number, { main, reserve, at }: Fill, now: number, part: number): Fill {
  const drainedCodes = (limit * Math.max(0, now - at)) / MINUTE_MS
  return { main: Math.max(0, main - drainedCodes), reserve: Math.max(0, reserve - drainedCodes * part), at: now }
}
