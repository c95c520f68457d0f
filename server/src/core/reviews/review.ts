/**
 * Reviews: decisions and reasons that an operator can choose for an application.
 * docs/operations/operator-console.md, "When an application polls too fast".
 */
import type { Application } from '../applications/application.ts'
import type { Evidence, Thresholds, Verdict } from './suspension.ts'

export const decisions = [
  'reinstate',
  'reinstate_slower',
  /** Also restores the grants that earlier decisions revoked, for `RESTORABLE_MS`. */
  'reinstate_and_restore',
  'keep',
  'keep_and_revoke',
] as const

export type Decision = (typeof decisions)[number]

export const reasons = [
  'fixed',
  'mistaken',
  'stolen_secret',
  'broken_firmware',
  'phishing',
  'no_answer',
  'other',
] as const

export type Reason = (typeof reasons)[number]

/**
 * Reasons for a warning, suspension or restoration: those of operators, and those of the service and the command line.
 */
export const suspensionReasons = [...reasons, 'polls_too_fast', 'not_decided_in_time', 'by_operator'] as const

export type SuspensionReason = (typeof suspensionReasons)[number]

/** Entries of the audit log may have been written by a newer version, with reasons unknown to this one. */
export function isSuspensionReason(value: unknown): value is SuspensionReason {
  return (suspensionReasons as readonly unknown[]).includes(value)
}

/** Length of a message between operators and the owner. */
export const MAX_WORDS_LENGTH = 2000

/** Longest poll interval that a review may set. */
export const MAX_INTERVAL_SECONDS = 300

export function isValidText(words: string): boolean {
  return words !== '' && words.length <= MAX_WORDS_LENGTH && !/\0/.test(words)
}

/** Whether the interval is longer than the configured one. */
export function isValidInterval(seconds: number | null, configured: number): boolean {
  return seconds !== null && Number.isInteger(seconds) && seconds > configured && seconds <= MAX_INTERVAL_SECONDS
}

/** Time in which revoked grants can be restored. After it, users who lost access have moved on. */
export const RESTORABLE_MS = 72 * 60 * 60 * 1000

/** `early_polls`: not confirmed by any grant, so anybody who has the secret of the application can cause it. */
export const reviewReasons = ['polling', 'reports', 'operator', 'early_polls'] as const

export type ReviewReason = (typeof reviewReasons)[number]

/** A review as shown to operators in the queue. */
export type ReviewLine = {
  readonly id: string
  readonly applicationId: string
  readonly application: string
  /** The account's slug. */
  readonly account: string
  readonly reason: ReviewReason
  readonly verdict: Verdict
  readonly harm: number
  readonly openedAt: number
  readonly closedAt: number | null
  /** Whether the application is suspended now. */
  readonly suspended: boolean
  readonly suspensionEndsAt: number | null
  readonly appealedAt: number | null
  readonly waitsForSecond: boolean
  /** Since when the suspended application waits for a decision; null if it does not. */
  readonly waitingSince: number | null
  /** Number of affected accounts. */
  readonly people: number
  /** Actual poll rate divided by the allowed one; null: unknown. */
  readonly factor: number | null
}

/** A review as shown to operators who decide. */
export type ReviewView = ReviewLine & {
  readonly evidence: Evidence
  readonly thresholds: Thresholds
  readonly warnedAt: number | null
  readonly appeal: string | null
}

/** A decision as shown to operators. */
export type DecisionLine = {
  readonly id: string
  readonly at: number
  /** E-mail address, like `confirmedBy` and `withdrawnBy`. */
  readonly by: string
  readonly decision: Decision
  readonly reason: Reason
  readonly words: string
  readonly intervalSeconds: number | null
  readonly needsSecond: boolean
  readonly confirmedBy: string | null
  readonly confirmedAt: number | null
  /** Withdrawn, or replaced by another decision, before it was confirmed. */
  readonly withdrawnBy: string | null
  readonly withdrawnAt: number | null
  /** Number of grants that it revoked or restored. */
  readonly grants: number
}

/** Whether a second operator has to confirm the decision before it takes effect. */
export function waitsForSecond({ needsSecond, confirmedAt, withdrawnAt }: DecisionLine): boolean {
  return needsSecond && confirmedAt === null && withdrawnAt === null
}

/** Time series of an application, for the charts of its review. */
export type Series = {
  /** The last three hours in steps of five minutes, in order. */
  readonly minutes: readonly {
    readonly at: number
    readonly polls: number
    readonly early: number
    readonly allowed: number
  }[]
  /** The last thirty days, in order. */
  readonly days: readonly {
    /** Start of the day in UTC. */
    readonly day: number
    readonly requested: number
    readonly entered: number
    readonly granted: number
    readonly rejected: number
    readonly polls: number
    readonly early: number
    /** Users who granted the application something for the first time. */
    readonly newUsers: number
    /** Networks from which the granted codes were requested. */
    readonly networks: number
    readonly countries: number
  }[]
}

/** An event in the history of an application. */
export type TimelineEvent = {
  readonly at: number
  readonly kind: string
  /** E-mail address of an operator or developer; null: done by the rule or from the command line. */
  readonly by: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

/** An application as shown to operators who review it. */
export type ReviewedApplication = Pick<
  Application,
  'id' | 'name' | 'publisher' | 'suspended' | 'deviceFlow' | 'public'
> & {
  readonly account: { readonly slug: string; readonly name: string }
  readonly createdAt: number
  /** Interval of new codes. */
  readonly pollIntervalSeconds: number
  /** Live grants. */
  readonly grants: number
  /** Grants that the decision `reinstate_and_restore` would restore now. */
  readonly restorable: number
  /** The open review, otherwise the newest. */
  readonly review: ReviewView | null
  readonly decisions: readonly DecisionLine[]
  /** Newest first, like `decisions`; the audit log has all. */
  readonly timeline: readonly TimelineEvent[]
  readonly series: Series
  readonly reportsByAccounts: number
}

export type DecisionFacts = {
  readonly decision: Decision
  /** State of the application before the decision. */
  readonly suspended: boolean
  /** Users reported it: a fraudster may gain by its reinstatement. */
  readonly reported: boolean
  /** Used by more people than one operator alone may cut off. */
  readonly widelyUsed: boolean
}

/** Two operators are needed to reinstate a reported application, and to revoke the grants of very many users. */
export function needsSecondOperator({ decision, suspended, reported, widelyUsed }: DecisionFacts): boolean {
  switch (decision) {
    case 'reinstate':
    case 'reinstate_slower':
    case 'reinstate_and_restore':
      return suspended && reported
    case 'keep':
      return false
    case 'keep_and_revoke':
      return widelyUsed
  }
}
