/**
 * The life of one device code: docs/interface.md, "Statuses and transitions".
 *
 * `core/` holds the rules of the service and nothing else. It is pure: no clock, no randomness, no storage. Time comes in
 * as an argument and the next record goes out as a value, so a step may be run again after a lost race.
 *
 * Expiry is never written: a pending code past its time *is* expired. Four statuses are stored, five are seen.
 */
export type Variant = 'token_set' | 'access_key'

/** What a final poll tells the application; `used` remembers which one it was. */
export type FinalOutcome = 'accepted' | 'rejected' | 'expired'

export type DeviceCode = {
  readonly id: string
  readonly applicationId: string
  /** What an accepted poll hands out; fixed by the path of the code request. */
  readonly variant: Variant
  readonly scopes: readonly string[]
  /** The application's own text, echoed back. Never the status of the code. */
  readonly state: string
  readonly expiresAt: number
  readonly status: 'pending' | 'accepted' | 'rejected' | 'used'
  /** The account user who entered the code first; only they may decide. */
  readonly claimedBy: string | null
  /** Nobody may decide any more: a user of another account entered the code, or a poll was told that it expired. */
  readonly entryClosed: boolean
  /** Who else entered the code while it was claimed: another user of the claimant's account, or of another account. */
  readonly alsoEntered: 'colleague' | 'another_account' | null
  readonly grantId: string | null
  readonly delivery: Delivery | null
}

/** A final outcome on its way to one poll. Until `until`, nobody else may deliver it. */
export type Delivery = {
  readonly leaseId: string
  readonly until: number
  readonly outcome: FinalOutcome
  /** Digest of the poll's Idempotency-Key: its repetition gets the same outcome, for REPEAT_MS. */
  readonly idempotencyKey: string | null
}

/**
 * How long one poll may take to hand its answer to the network before another poll may deliver the same one.
 * Longer than any answer needs, shorter than a person's patience in front of a television.
 */
export const LEASE_MS = 10_000

/** How long an outcome waits to be collected, and is remembered, after the code's own expiry. */
export const KEPT_AFTER_EXPIRY_MS = 24 * 60 * 60 * 1000

/**
 * How long the poll that was answered may ask for its answer again, told by its Idempotency-Key: time for every retry of a
 * client that lost an answer, and no longer, because a used code answers `invalid`.
 */
export const REPEAT_MS = 10 * 60 * 1000

export type PollRequest = {
  readonly now: number
  readonly tooEarly: boolean
  readonly leaseId: string
  readonly idempotencyKey: string | null
}

export type PollStep =
  | { readonly answer: 'auth_pending' | 'slow_down' | 'invalid' }
  /** Another poll is handing over the outcome at this moment: ask again shortly. */
  | { readonly answer: 'being_delivered' }
  /** Save `next`, send the delivery's outcome, then `confirm` or `release`. */
  | { readonly answer: 'deliver'; readonly delivery: Delivery; readonly next: DeviceCode }
  /** The answer was sent before; the same poll asks for it once more, and nothing changes. */
  | { readonly answer: 'repeat'; readonly delivery: Delivery }

export function poll(code: DeviceCode, request: PollRequest): PollStep {
  switch (code.status) {
    case 'used':
      return isRepetition(code, request) && request.now < takenAt(code.delivery) + REPEAT_MS
        ? { answer: 'repeat', delivery: code.delivery }
        : { answer: 'invalid' }
    case 'accepted':
      return deliver(code, 'accepted', request)
    case 'rejected':
      return deliver(code, 'rejected', request)
    case 'pending':
      // The outcome of a code beats its pacing: slow_down exists only while the user has yet to act.
      if (isExpired(code, request.now)) return deliver(code, 'expired', request)
      return { answer: request.tooEarly ? 'slow_down' : 'auth_pending' }
  }
}

function deliver(code: DeviceCode, outcome: FinalOutcome, request: PollRequest): PollStep {
  const { now, leaseId, idempotencyKey } = request
  const leased = code.delivery !== null && now < code.delivery.until
  if (leased && !isRepetition(code, request)) return { answer: 'being_delivered' }
  const delivery: Delivery = { leaseId, until: now + LEASE_MS, outcome, idempotencyKey }
  // Who hears that the code expired must not be proved wrong by a decision whose clock was read a moment earlier and which
  // waited for this poll's lock: from here on nobody can decide, not even if this answer gets lost.
  const entryClosed = code.entryClosed || outcome === 'expired'
  return { answer: 'deliver', delivery, next: { ...code, delivery, entryClosed } }
}

function isRepetition(code: DeviceCode, request: PollRequest): code is DeviceCode & { delivery: Delivery } {
  return request.idempotencyKey !== null && code.delivery?.idempotencyKey === request.idempotencyKey
}

/** When the poll took the outcome. */
function takenAt(delivery: Delivery): number {
  return delivery.until - LEASE_MS
}

/** The answer was handed to the network. That counts even if the lease ran out, or was taken over, on the way. */
export function confirm(code: DeviceCode, delivery: Delivery): DeviceCode {
  return code.status === 'used' ? code : { ...code, status: 'used', delivery }
}

/** The client went away before the answer could be sent: the next poll may have it at once, unless another holds it. */
export function release(code: DeviceCode, delivery: Delivery): DeviceCode {
  if (code.status === 'used' || code.delivery?.leaseId !== delivery.leaseId) return code
  return { ...code, delivery: null }
}

/**
 * Entering a code: `claimed` leads to the decision; `taken` tells a colleague of the claimant to wait or to start again.
 * `closed` and `not_open` get one answer and are told apart only in the audit log.
 */
export type ClaimStep =
  | { readonly answer: 'claimed'; readonly next: DeviceCode }
  | { readonly answer: 'taken'; readonly next: DeviceCode }
  | { readonly answer: 'closed'; readonly next: DeviceCode }
  | { readonly answer: 'not_open' }

/** `sameAccount`: the user belongs to the account of the user who claimed the code before. */
export function claim(code: DeviceCode, userId: string, sameAccount: boolean, now: number): ClaimStep {
  if (!isOpen(code, now)) return { answer: 'not_open' }
  if (code.claimedBy === null || code.claimedBy === userId) {
    return { answer: 'claimed', next: { ...code, claimedBy: userId } }
  }
  if (sameAccount) return { answer: 'taken', next: { ...code, alsoEntered: 'colleague' } }
  return { answer: 'closed', next: { ...code, entryClosed: true, alsoEntered: 'another_account' } }
}

/** The claimant hands the code back: it is as if nobody had entered it. */
export function unclaim(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId) return { answer: 'not_open' }
  return { answer: 'decided', next: { ...code, claimedBy: null, alsoEntered: null } }
}

export type DecisionStep = { readonly answer: 'decided'; readonly next: DeviceCode } | { readonly answer: 'not_open' }

export function accept(code: DeviceCode, userId: string, grantId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId) return { answer: 'not_open' }
  return { answer: 'decided', next: { ...code, status: 'accepted', grantId } }
}

export function reject(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId) return { answer: 'not_open' }
  return { answer: 'decided', next: { ...code, status: 'rejected' } }
}

/** May the user code still be entered and decided? */
export function isOpen(code: DeviceCode, now: number): boolean {
  return code.status === 'pending' && !isExpired(code, now) && !code.entryClosed
}

export function isExpired(code: Pick<DeviceCode, 'expiresAt'>, now: number): boolean {
  return now >= code.expiresAt
}

/** Past this point nothing is kept of a code: it answers `invalid` without a look-up. */
export function isForgotten(code: Pick<DeviceCode, 'expiresAt'>, now: number): boolean {
  return now >= code.expiresAt + KEPT_AFTER_EXPIRY_MS
}
