/** Reviews of applications: what operators see and decide, and the owner's appeal. docs/operations.md, "When an application polls too fast". */
import type { Publisher } from '../core/application.ts'
import type { Decision, Reason } from '../core/review.ts'
import type { Evidence, Thresholds, Verdict } from '../core/suspension.ts'
import type { Forbidden } from './administrator.ts'
import type { Context } from './context.ts'

export type ReviewLine = {
  readonly id: string
  readonly applicationId: string
  readonly application: string
  /** The account's slug. */
  readonly account: string
  readonly why: 'polling' | 'reports' | 'operator'
  readonly verdict: Verdict
  readonly harm: number
  readonly openedAt: number
  readonly closedAt: number | null
  /** The application, at this moment. */
  readonly suspended: boolean
  readonly suspensionEndsAt: number | null
  readonly appealedAt: number | null
  readonly waitsForSecond: boolean
  /** Accounts touched. */
  readonly people: number
  readonly factor: number | null
}

/** Open ones by harm, then age; closed ones newest first. */
export function listReviews(_context: Context, _filter: 'open' | 'closed'): Promise<readonly ReviewLine[]> {
  throw new Error('not yet')
}

export type Timeline = {
  readonly at: number
  readonly kind: string
  /** The e-mail address of an operator or developer; null: the rule. */
  readonly by: string | null
  readonly detail: Readonly<Record<string, unknown>>
}

export type Series = {
  /** Of the last three hours, by five minutes. */
  readonly minutes: readonly {
    readonly at: number
    readonly polls: number
    readonly early: number
    readonly allowed: number
  }[]
  /** Of the last thirty days. */
  readonly days: readonly {
    readonly day: number
    readonly requested: number
    readonly entered: number
    readonly granted: number
    readonly rejected: number
    readonly polls: number
    readonly early: number
    readonly newUsers: number
    readonly networks: number
    readonly countries: number
  }[]
}

export type ReviewedApplication = {
  readonly id: string
  readonly name: string
  readonly account: { readonly id: string; readonly slug: string; readonly name: string }
  readonly createdAt: number
  readonly publisher: Publisher
  readonly suspended: boolean
  readonly deviceFlow: boolean
  readonly public: boolean
  /** What its new codes carry. */
  readonly pollIntervalSeconds: number
  readonly grants: number
  /** The open one, otherwise the newest. */
  readonly review:
    | (ReviewLine & {
        readonly evidence: Evidence
        readonly ruleVersion: number
        readonly dryRun: boolean
        readonly warnedAt: number | null
        readonly appeal: string | null
      })
    | null
  readonly decisions: readonly DecisionLine[]
  /** Newest first, a hundred at most. */
  readonly timeline: readonly Timeline[]
  readonly series: Series
  readonly reportsByAccounts: number
  /** To be handed back with a decision: it stands for everything above that a decision depends on. */
  readonly seen: string
}

/** Null: there is no such application. */
export function readReviewedApplication(
  _context: Context,
  _applicationId: string,
): Promise<ReviewedApplication | null> {
  throw new Error('not yet')
}

export { type Decision, decisions, type Reason, reasons } from '../core/review.ts'

export type DecisionLine = {
  readonly id: string
  readonly at: number
  /** An e-mail address. */
  readonly by: string
  readonly decision: Decision
  readonly reason: Reason
  readonly words: string
  readonly intervalSeconds: number | null
  readonly needsSecond: boolean
  readonly confirmedBy: string | null
  readonly confirmedAt: number | null
  readonly undoneBy: string | null
  readonly undoneAt: number | null
  /** How many grants it ended. */
  readonly revoked: number
  readonly undoable: boolean
}

export type DecisionWish = {
  readonly applicationId: string
  /** Null: there was no open review. */
  readonly reviewId: string | null
  /** `ReviewedApplication.seen`, as it was when the operator looked. */
  readonly seen: string
  readonly decision: Decision
  readonly reason: Reason
  readonly words: string
  readonly intervalSeconds: number | null
}

export function decideReview(
  _context: Context,
  _by: string,
  _wish: DecisionWish,
): Promise<{ outcome: 'decided' | 'waits_for_second' | 'stale' | 'not_found' | 'unfit' } | Forbidden> {
  throw new Error('not yet')
}

export function confirmDecision(
  _context: Context,
  _by: string,
  _decisionId: string,
): Promise<{ outcome: 'decided' | 'same_operator' | 'not_found' | 'stale' } | Forbidden> {
  throw new Error('not yet')
}

/** Also withdraws one that waits for a second operator. */
export function undoDecision(
  _context: Context,
  _by: string,
  _decisionId: string,
): Promise<{ outcome: 'undone' | 'not_found' | 'too_late' } | Forbidden> {
  throw new Error('not yet')
}

export function appeal(
  _context: Context,
  _by: string,
  _applicationId: string,
  _words: string,
): Promise<{ outcome: 'appealed' | 'not_found' | 'not_suspended' | 'unfit' } | Forbidden> {
  throw new Error('not yet')
}

export type Rule = {
  readonly version: number
  readonly thresholds: Thresholds
  readonly dryRun: boolean
  readonly createdAt: number | null
  readonly by: string | null
}

export function readRule(_context: Context): Promise<Rule> {
  throw new Error('not yet')
}

export function changeRule(
  _context: Context,
  _by: string,
  _thresholds: Thresholds,
  _dryRun: boolean,
): Promise<{ outcome: 'changed' } | { outcome: 'unfit'; field: string } | Forbidden> {
  throw new Error('not yet')
}
