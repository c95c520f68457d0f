/** The service as far as a refresh is concerned: the rule of core/grants/grant.ts, in virtual time. */
import { accessTokenExpiry, type Grant, type RefreshStep, refresh } from '../../../src/core/grants/grant.ts'
import { makeGrant } from '../../rig/records.ts'

export const ACCESS_TOKEN_MS = 300_000
const DAY = 24 * 3_600_000
const LIMITS = { unusedMs: 60 * DAY, maxMs: 365 * DAY, accessTokenMs: ACCESS_TOKEN_MS }
const HOLDER = { userDisabled: false, accountClosed: false, applicationDeleted: false }

/** A process of the service records the first acceptance of a generation and saves it within this time. */
const SAVED_AFTER_MS = 1_000

/** A token set as a client stores it. */
export type HeldSet = { readonly login: number; readonly generation: number; readonly expiresAt: number }

export type Answer = { readonly step: RefreshStep['answer']; readonly set: HeldSet | null }

export class VirtualService {
  login = 0
  refreshes = 0
  repeated = 0
  private grant: Grant = makeGrant()
  private recorded: { readonly generation: number; readonly savedAt: number } | null = null

  /** A user authorizes the application: the first token set. */
  authorize(now: number): HeldSet {
    this.login += 1
    this.grant = makeGrant({ createdAt: now, issuedAt: now })
    this.recorded = null
    return this.current()
  }

  refresh(presented: HeldSet, now: number): Answer {
    this.refreshes += 1
    if (presented.login !== this.login) return { step: 'not_valid', set: null }
    this.save(now)
    const made = refresh(this.grant, HOLDER, presented.generation, now, LIMITS)
    if (made.answer === 'not_valid') return { step: 'not_valid', set: null }
    if (made.answer === 'reused') {
      this.grant = { ...this.grant, revokedAt: now }
      return { step: 'reused', set: null }
    }
    if (made.answer !== 'refreshed') this.repeated += 1
    if ('next' in made) this.grant = made.next
    return { step: made.answer, set: this.current() }
  }

  /** An API checks the access token. */
  check(set: HeldSet, now: number): boolean {
    if (set.login !== this.login || this.grant.revokedAt !== null || now >= set.expiresAt) return false
    this.save(now)
    const { generation, usedGeneration } = this.grant
    if (set.generation === generation && usedGeneration < generation && this.recorded?.generation !== generation) {
      this.recorded = { generation, savedAt: now + SAVED_AFTER_MS }
    }
    return true
  }

  private save(now: number): void {
    if (!this.recorded || now < this.recorded.savedAt) return
    if (this.recorded.generation === this.grant.generation) {
      this.grant = { ...this.grant, usedGeneration: this.recorded.generation }
    }
    this.recorded = null
  }

  private current(): HeldSet {
    const { generation, issuedAt } = this.grant
    return { login: this.login, generation, expiresAt: accessTokenExpiry(issuedAt ?? 0, ACCESS_TOKEN_MS) }
  }
}
