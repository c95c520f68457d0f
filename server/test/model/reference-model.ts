/**
 * Reference model of one device code, written from docs/interface.md alone ("Statuses and transitions", "Delivery",
 * "The user decides"), as simply as possible. It imports nothing of server/src, so that a mistake in one of
 * the two shows as a difference between them.
 *
 * Simple on purpose: one mutable object, one number for the time, one question per method.
 */
export type Outcome = 'accepted' | 'rejected' | 'expired'

/** The five statuses of the contract. `expired` is not stored: it follows from the time. */
export type VisibleStatus = 'pending' | Outcome | 'used'

export type PollAnswer =
  | 'auth_pending'
  | 'slow_down'
  | 'invalid'
  /** Another poll holds the outcome. */
  | 'being_delivered'
  /** This poll now holds the outcome and has to send it. */
  | Outcome
  /** The outcome was sent before, and the same poll repeats its request. */
  | `${Outcome} again`

export type EntryAnswer = 'claimed' | 'taken' | 'closed' | 'not_recognised'

/** Duration of a lease. */
export const LEASE_MS = 10_000

/** How long the answered poll may repeat its request with its key. */
export const REPEAT_MS = 10 * 60 * 1000

/** How long after expiry an outcome can be collected; then the code is `invalid`. */
export const KEPT_MS = 24 * 60 * 60 * 1000

type Lease = { readonly id: string; readonly until: number; readonly key: string | null }

/** The part that is compared with the implementation. */
export type View = {
  readonly status: VisibleStatus
  readonly claimedBy: string | null
  readonly alsoEntered: 'colleague' | 'another_account' | null
  readonly open: boolean
  readonly grants: number
  readonly lease: Lease | null
}

export class ReferenceCode {
  readonly expiresAt: number
  now: number
  claimedBy: string | null = null
  /** Their account, and who they are: one person may be a user of several accounts. */
  account: string | null = null
  person: string | null = null
  /** A colleague has continued instead of the claimant. */
  takenOver = false
  /** Another user of that account entered the code, too. */
  shared = false
  /** A user of another account entered the code, too: this one. */
  closedBy: string | null = null
  decision: 'accepted' | 'rejected' | null = null
  /** Number of grants of this code. */
  grants = 0
  /** The poll that holds the outcome, or held it last; its key is kept after it was sent. */
  lease: Lease | null = null
  /** Every poll that ever held the outcome: some may send it late. */
  readonly given = new Map<string, Lease & { readonly outcome: Outcome }>()
  /** The outcome that was sent: from then on the code is used. */
  sent: Outcome | null = null

  constructor(now: number, expiresAt: number) {
    this.now = now
    this.expiresAt = expiresAt
  }

  get status(): VisibleStatus {
    if (this.sent !== null) return 'used'
    if (this.decision !== null) return this.decision
    if (this.closedBy !== null) return 'expired'
    return this.now < this.expiresAt ? 'pending' : 'expired'
  }

  get forgotten(): boolean {
    return this.now >= this.expiresAt + KEPT_MS
  }

  /** Whether the code may be entered and decided. Not when an outcome is being delivered. */
  get open(): boolean {
    return this.status === 'pending' && this.lease === null
  }

  get leased(): boolean {
    return this.sent === null && this.lease !== null && this.now < this.lease.until
  }

  /** Whether the answer may still be repeated. */
  get repeats(): boolean {
    return this.lease !== null && this.now < this.lease.until - LEASE_MS + REPEAT_MS
  }

  get view(): View {
    return {
      status: this.status,
      claimedBy: this.claimedBy,
      alsoEntered: this.closedBy !== null ? 'another_account' : this.shared ? 'colleague' : null,
      open: this.open,
      grants: this.grants,
      lease: this.lease,
    }
  }

  poll(lease: string, early: boolean, key: string | null): PollAnswer {
    if (this.forgotten) return 'invalid'
    const status = this.status
    // A final outcome precedes pacing: slow_down is answered only while pending.
    if (status === 'pending') return early ? 'slow_down' : 'auth_pending'
    const sameKey = key !== null && this.lease?.key === key
    if (status === 'used') return sameKey && this.sent !== null && this.repeats ? `${this.sent} again` : 'invalid'
    if (this.leased && !sameKey) return 'being_delivered'
    this.lease = { id: lease, until: this.now + LEASE_MS, key }
    this.given.set(lease, { ...this.lease, outcome: status })
    return status
  }

  /** The answer was sent: that counts, even if another poll has taken the lease over since. */
  confirm(lease: string): void {
    const given = this.given.get(lease)
    if (this.sent !== null || given === undefined) return
    const { outcome, ...held } = given
    this.sent = outcome
    this.lease = held
  }

  /**
   * The client disconnected before the answer was sent: the next poll may have it at once, unless another holds it, or one
   * with the same key may still send it.
   */
  release(lease: string): void {
    if (this.sent === null && this.lease?.id === lease && this.lease.key === null) this.lease = null
  }

  /** `instead`: continues instead of a colleague. */
  enter(user: string, account: string, person = user, instead = false): EntryAnswer {
    if (!this.open) return this.closedBy !== null && this.knows(user) ? 'closed' : 'not_recognised'
    if (this.claimedBy !== null && this.claimedBy !== user) {
      if (this.account === account) {
        this.shared = true
        if (!instead || this.takenOver) return 'taken'
        this.takenOver = true
      } else {
        if (this.person !== person) {
          this.closedBy = user
          return 'closed'
        }
      }
    }
    this.claimedBy = user
    this.account = account
    this.person = person
    return 'claimed'
  }

  /** Who is told that the code was closed. */
  private knows(user: string): boolean {
    return this.claimedBy === user || this.closedBy === user
  }

  /** "Not you?": as if the code had not been entered. */
  unclaim(user: string): void {
    if (!this.open || this.claimedBy !== user) return
    this.claimedBy = null
    this.account = null
    this.person = null
    this.shared = false
  }

  grant(user: string): 'granted' | 'not_open' {
    if (!this.open || this.claimedBy !== user) return 'not_open'
    this.decision = 'accepted'
    this.grants += 1
    return 'granted'
  }

  reject(user: string): 'rejected' | 'not_open' {
    if (!this.open || this.claimedBy !== user) return 'not_open'
    this.decision = 'rejected'
    return 'rejected'
  }
}
