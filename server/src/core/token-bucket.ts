/**
 * Code limit of one application: a token bucket, with a reserve for networks that received few codes.
 * docs/interface/limits.md, "Limits".
 *
 * The bucket refills evenly: a burst fits, then codes pass at the rate of the limit. An application that floods the
 * service gets its limit as a steady trickle, not as a minute's worth at once that delays all other requests.
 *
 * The secret of an application ships in its devices, so a thief may use it too, from many networks at once. Therefore a
 * second bucket of the same capacity is reserved for networks that received few codes: the emptier it is, the fewer they
 * may have received, and its last half is for networks that received none. Heavy requesters can empty the main bucket,
 * but not the reserve (docs/history.md#0022).
 */
export type TokenBucket = {
  readonly tokens: number
  readonly reserve: number
  readonly at: number
}

export type Take = {
  /** Codes per minute. */
  readonly limit: number
  readonly bucket: TokenBucket
  readonly now: number
  /** Codes that the requesting network received lately. */
  readonly received: number
}

const MINUTE_MS = 60_000

/** The burst, as time at the rate of the limit; also the time in which an empty bucket refills. */
const BURST_MS = 2_000

/** A network that received this many codes lately gets none from the reserve, however much is left. */
export const MAX_RECEIVED = 5

export function capacityOf(limit: number): number {
  return Math.max(1, (limit * BURST_MS) / MINUTE_MS)
}

export function fullBucket(limit: number, now: number): TokenBucket {
  return { tokens: capacityOf(limit), reserve: capacityOf(limit), at: now }
}

export type Taken = { readonly passed: boolean; readonly bucket: TokenBucket }

/** The script of gate/code-limit.ts does the same on Redis. */
export function takeToken({ limit, bucket, now, received }: Take): Taken {
  const capacity = capacityOf(limit)
  const refilled = (limit * Math.max(0, now - bucket.at)) / MINUTE_MS
  const tokens = Math.min(capacity, bucket.tokens + refilled)
  const reserve = Math.min(capacity, bucket.reserve + refilled)
  if (tokens >= 1) return { passed: true, bucket: { tokens: tokens - 1, reserve, at: now } }
  const used = (capacity - reserve + 1) / capacity
  const mayUseReserve = reserve >= 1 && received < Math.min(MAX_RECEIVED, Math.max(1, 1 / (2 * used)))
  return { passed: mayUseReserve, bucket: { tokens, reserve: mayUseReserve ? reserve - 1 : reserve, at: now } }
}

/** For a code that was not issued after all. */
export function refundToken(limit: number, bucket: TokenBucket): TokenBucket {
  return { ...bucket, tokens: Math.min(capacityOf(limit), bucket.tokens + 1) }
}
