/**
 * State machine of a device code: docs/interface/device-flow.md, "Statuses and transitions".
 *
 * `core/` holds the rules of the service and nothing else. It is pure: no clock, no randomness, no storage. Time comes
 * in as an argument and the next record goes out as a value, so a step can be run again after a lost race.
 *
 * Expiry is never stored: a pending code past `expiresAt` is expired. Four statuses are stored, clients see five.
 */
export type Variant = 'token_set' | 'access_key'

/** The outcome that a final poll returns; a `used` code remembers it in its delivery. */
export type FinalOutcome = 'accepted' | 'rejected' | 'expired'

export type DeviceCode = {
  readonly id: string
  readonly applicationId: string
  /** The credentials that an accepted poll returns; fixed by the path of the code request. */
  readonly variant: Variant
  readonly scopes: readonly string[]
  /** The application's `state` parameter, echoed back; unrelated to `status`. */
  readonly state: string
  readonly expiresAt: number
  readonly status: 'pending' | 'accepted' | 'rejected' | 'used'
  /** The user who entered the code first, or took it over; only they may decide. */
  readonly claimedBy: string | null
  /** The person as whom they had signed in when they entered it; null: not known. */
  readonly claimedAs: string | null
  /** The colleague from whom they took it over. Once per code. */
  readonly takenFrom: string | null
  /** The same person's users in other accounts, who entered the code before. */
  readonly movedFrom: readonly string[]
  /**
   * No user may decide any more: a user of another account entered the code, or a poll was answered that it expired.
   */
  readonly entryClosed: boolean
  /**
   * Who else entered the code while it was claimed: another user of the account in which it was, or one of another account.
   */
  readonly alsoEntered: 'colleague' | 'another_account' | null
  /** The user of another account who closed it. */
  readonly closedBy: string | null
  readonly grantId: string | null
  readonly delivery: Delivery | null
}

/** Delivery of a final outcome to one poll. Until `until`, no other poll may deliver it. */
export type Delivery = {
  readonly leaseId: string
  readonly until: number
  readonly outcome: FinalOutcome
  /** Digest of the poll's Idempotency-Key: a retry with the same key gets the same outcome, for REPEAT_MS. */
  readonly idempotencyKey: string | null
}

/**
 * How long a poll may take to send its response before another poll may deliver the same outcome. Longer than any
 * response needs, shorter than the patience of a user in front of a television.
 */
export const LEASE_MS = 10_000

/** How long an outcome can be collected, and is remembered, after the expiry of the code. */
export const KEPT_AFTER_EXPIRY_MS = 24 * 60 * 60 * 1000

/**
 * How long the answered poll may be retried, recognised by its Idempotency-Key. Enough for all retries of a client that
 * lost the response, and no longer, because a used code answers `invalid`.
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
  /** Another poll is delivering the outcome at this moment: retry shortly. */
  | { readonly answer: 'being_delivered' }
  /** Save `next`, send the outcome, then call `confirm` or `release`. */
  | { readonly answer: 'deliver'; readonly delivery: Delivery; readonly next: DeviceCode }
  /** The response was sent before and the same poll is retried: send it again, nothing changes. */
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
      // The outcome takes precedence over the pace: slow_down exists only while the user has yet to decide.
      if (isExpired(code, request.now) || isClosed(code)) return deliver(code, 'expired', request)
      return { answer: request.tooEarly ? 'slow_down' : 'auth_pending' }
  }
}

function deliver(code: DeviceCode, outcome: FinalOutcome, request: PollRequest): PollStep {
  const { now, leaseId, idempotencyKey } = request
  const leased = code.delivery !== null && now < code.delivery.until
  if (leased && !isRepetition(code, request)) return { answer: 'being_delivered' }
  const delivery: Delivery = { leaseId, until: now + LEASE_MS, outcome, idempotencyKey }
  // Race: a decision may have read its clock just before the expiry and be waiting for this poll's lock. Once a poll
  // was told `expired`, no user can decide any more, even if this response gets lost.
  const entryClosed = code.entryClosed || outcome === 'expired'
  return { answer: 'deliver', delivery, next: { ...code, delivery, entryClosed } }
}

function isRepetition(code: DeviceCode, request: PollRequest): code is DeviceCode & { delivery: Delivery } {
  return request.idempotencyKey !== null && code.delivery?.idempotencyKey === request.idempotencyKey
}

/** When the poll took its lease. */
function takenAt(delivery: Delivery): number {
  return delivery.until - LEASE_MS
}

/** The response was handed to the network. That counts even if the lease expired or was taken over meanwhile. */
export function confirm(code: DeviceCode, delivery: Delivery): DeviceCode {
  return code.status === 'used' ? code : { ...code, status: 'used', delivery }
}

/**
 * The client disconnected before the response was sent: the next poll may take the outcome at once, unless another one
 * holds it. With an Idempotency-Key the lease stays: another poll with the same key may be sending its response still,
 * and a retry with this key does not wait for the lease.
 */
export function release(code: DeviceCode, delivery: Delivery): DeviceCode {
  if (code.status === 'used' || code.delivery?.leaseId !== delivery.leaseId) return code
  return delivery.idempotencyKey === null ? { ...code, delivery: null } : code
}

/**
 * Result of entering a code. `claimed` and `moved` lead to the consent page, `moved` from that of the same person in another
 * account; `taken`: a colleague of the claimant may take the code over. `closed`: by this user, who is of another account.
 * `not_open` is all that other users learn of a code that is not open.
 */
export type ClaimStep =
  | { readonly answer: 'claimed' | 'moved' | 'taken' | 'closed'; readonly next: DeviceCode }
  | { readonly answer: 'not_open' }

/** A user who enters a code. */
export type Entrant = {
  readonly userId: string
  /** As whom they signed in; null: not known. */
  readonly person: string | null
  /** What they are to the claimant. `same_person`: in another account. */
  readonly relation: 'colleague' | 'same_person' | 'stranger'
}

/** More accounts than a person moves a code through. */
const MAX_MOVED_FROM = 8

export function claim(code: DeviceCode, { userId, person, relation }: Entrant, now: number): ClaimStep {
  if (!isOpen(code, now)) return { answer: 'not_open' }
  const { claimedBy } = code
  const claimed = { ...code, claimedBy: userId, claimedAs: person }
  if (claimedBy === null || claimedBy === userId) return { answer: 'claimed', next: claimed }
  switch (relation) {
    case 'colleague':
      return { answer: 'taken', next: { ...code, alsoEntered: 'colleague' } }
    case 'same_person': {
      const movedFrom = [...code.movedFrom.filter((id) => id !== userId), claimedBy].slice(-MAX_MOVED_FROM)
      return { answer: 'moved', next: { ...claimed, movedFrom } }
    }
    case 'stranger':
      return {
        answer: 'closed',
        next: { ...code, entryClosed: true, alsoEntered: 'another_account', closedBy: userId },
      }
  }
}

/** A colleague of the claimant, who enters the code as well, continues instead of them. */
export function takeOver(code: DeviceCode, { userId, person, relation }: Entrant, now: number): DecisionStep {
  const { claimedBy } = code
  if (!isOpen(code, now) || claimedBy === null || claimedBy === userId) return { answer: 'not_open' }
  if (relation !== 'colleague' || !mayBeTakenOver(code)) return { answer: 'not_open' }
  const next = {
    ...code,
    claimedBy: userId,
    claimedAs: person,
    takenFrom: claimedBy,
    alsoEntered: 'colleague',
  } as const
  return { answer: 'decided', next }
}

/** A second time would give somebody who sends a code to many users one more chance with each of them. */
export function mayBeTakenOver({ takenFrom }: DeviceCode): boolean {
  return takenFrom === null
}

/**
 * What became of a code that a user had entered and can no longer decide: they, or somebody who entered it after them, closed
 * it; they went on in another account; or a colleague goes on. Null: something else, or they can decide it.
 */
export function lossOf(code: DeviceCode, userId: string): 'entered_elsewhere' | 'moved' | 'taken_over' | null {
  const { claimedBy, closedBy, movedFrom, takenFrom } = code
  if (isClosed(code) && (claimedBy === userId || closedBy === userId)) return 'entered_elsewhere'
  if (claimedBy === userId) return null
  if (movedFrom.includes(userId)) return 'moved'
  return takenFrom === userId ? 'taken_over' : null
}

/** Releases the claim, as if the code had never been entered. */
export function unclaim(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId) return { answer: 'not_open' }
  return { answer: 'decided', next: { ...code, claimedBy: null, claimedAs: null, alsoEntered: null } }
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

/** Whether the user code can still be entered and decided. */
export function isOpen(code: DeviceCode, now: number): boolean {
  return code.status === 'pending' && !isExpired(code, now) && !code.entryClosed
}

/** A user of another account entered it: polls are told that it expired. */
export function isClosed(code: Pick<DeviceCode, 'alsoEntered'>): boolean {
  return code.alsoEntered === 'another_account'
}

export function isExpired(code: Pick<DeviceCode, 'expiresAt'>, now: number): boolean {
  return now >= code.expiresAt
}

/** Past this point the code is purged: polls are answered `invalid` without a look-up. */
export function isForgotten(code: Pick<DeviceCode, 'expiresAt'>, now: number): boolean {
  return now >= code.expiresAt + KEPT_AFTER_EXPIRY_MS
}
