/**
 * Reviews of applications, as operators read them. Decisions are in decide.ts and undo.ts, appeals in appeal.ts.
 * docs/operations.md, "When an application polls too fast".
 */
import { type Publisher, pollIntervalOf } from '../../core/applications/application.ts'
import type { DecisionLine, Series } from '../../core/reviews/review.ts'
import { type Evidence, peopleTouched, type Verdict } from '../../core/reviews/suspension.ts'
import { readDayAddresses, readDays, readMinutes } from '../../store/applications/series.ts'
import { readClock } from '../../store/device/partitions.ts'
import { bePatient, type Queryable } from '../../store/postgres/postgres.ts'
import { findDecisionInEffect, type ListedDecision, listDecisions } from '../../store/reviews/decisions.ts'
import { readReports } from '../../store/reviews/evidence.ts'
import { findReviewedApplication, readTimeline } from '../../store/reviews/reviewed-applications.ts'
import {
  findListedReview,
  findNewestReview,
  type ListedReview,
  listReviews as listStored,
  readSeen,
} from '../../store/reviews/reviews.ts'
import type { Context } from '../context.ts'
import { isUndoable } from './undo.ts'

export type ReviewLine = {
  readonly id: string
  readonly applicationId: string
  readonly application: string
  /** The account's slug. */
  readonly account: string
  readonly reason: 'polling' | 'reports' | 'operator'
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
  readonly factor: number | null
}

/** Open reviews by harm, then age; closed ones newest first. */
export async function listReviews(context: Context, filter: 'open' | 'closed'): Promise<readonly ReviewLine[]> {
  return (await listStored(context.db, filter)).map(lineOf)
}

function lineOf(review: ListedReview): ReviewLine {
  const { id, applicationId, application, account, reason, verdict, harm, openedAt, closedAt } = review
  const { suspended, suspensionEndsAt, appealedAt, waitsForSecond, waitingSince, evidence } = review
  return {
    ...{ id, applicationId, application, account, reason, verdict, harm, openedAt, closedAt },
    ...{ suspended, suspensionEndsAt, appealedAt, waitsForSecond, waitingSince },
    people: peopleTouched(evidence),
    factor: evidence.factor,
  }
}

export type Timeline = {
  readonly at: number
  readonly kind: string
  /** E-mail address of an operator or developer; null for the rule. */
  readonly by: string | null
  readonly detail: Readonly<Record<string, unknown>>
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
  /** Interval of new codes. */
  readonly pollIntervalSeconds: number
  readonly grants: number
  /** The open review, otherwise the newest. */
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
  /** Newest first, at most 100. */
  readonly timeline: readonly Timeline[]
  readonly series: Series
  readonly reportsByAccounts: number
  /** Version tag of everything that a decision depends on; sent back with the decision. */
  readonly seen: string
}

/** Null if there is no such application. */
export function readReviewedApplication(context: Context, applicationId: string): Promise<ReviewedApplication | null> {
  return context.db.transaction(async (tx) => {
    // Raises the statement timeout: the most reviewed applications have the most rows.
    await bePatient(tx)
    return readInPatience(context, tx, applicationId)
  })
}

async function readInPatience(
  context: Context,
  db: Queryable,
  applicationId: string,
): Promise<ReviewedApplication | null> {
  const { config } = context
  const application = await findReviewedApplication(db, applicationId)
  // Read first: a change during the following reads then makes the decision stale, instead of going unnoticed.
  const seen = await readSeen(db, applicationId)
  if (!application || seen === null) return null
  const newest = await findNewestReview(db, applicationId)
  const review = newest && (await findListedReview(db, newest.id))
  const inEffect = await findDecisionInEffect(db, applicationId)
  const now = await readClock(db)
  return {
    ...application,
    pollIntervalSeconds: pollIntervalOf(application, config.pollIntervalSeconds),
    review: review && {
      ...lineOf(review),
      evidence: review.evidence,
      ruleVersion: review.ruleVersion,
      dryRun: review.dryRun,
      warnedAt: review.warnedAt,
      appeal: review.appeal,
    },
    decisions: (await listDecisions(db, applicationId)).map((each) => decisionLineOf(each, inEffect?.id, now)),
    timeline: await readTimeline(db, applicationId),
    series: await readSeries(context, db, applicationId),
    reportsByAccounts: (await readReports(db, [applicationId])).get(applicationId) ?? 0,
    seen,
  }
}

function decisionLineOf(decision: ListedDecision, inEffectId: string | undefined, now: number): DecisionLine {
  const { id, at, decision: decided, reason, words, intervalSeconds, needsSecond } = decision
  const { confirmedAt, undoneAt, revoked, tookEffectAt } = decision
  return {
    ...{ id, at, decision: decided, reason, words, intervalSeconds, needsSecond, confirmedAt, undoneAt, revoked },
    by: decision.byEmail,
    confirmedBy: decision.confirmedByEmail,
    undoneBy: decision.undoneByEmail,
    undoable: isUndoable(decision, now) && (tookEffectAt === null || id === inEffectId),
  }
}

const HOURS = 3
const DAYS = 30

async function readSeries({ geoip }: Context, db: Queryable, applicationId: string): Promise<Series> {
  const minutes = await readMinutes(db, applicationId, HOURS)
  const days = await readDays(db, applicationId, DAYS)
  const countries = new Map<number, Set<string>>()
  for (const { day, address } of await readDayAddresses(db, applicationId, DAYS)) {
    const { country } = geoip.find(address)
    const known = countries.get(day) ?? new Set()
    if (country !== null) countries.set(day, known.add(country))
  }
  return {
    // Early polls do not restart the interval, so the remaining polls are as many as were allowed.
    minutes: minutes.map((point) => ({ ...point, allowed: Math.max(0, point.polls - point.early) })),
    days: days.map((point) => ({ ...point, countries: countries.get(point.day)?.size ?? 0 })),
  }
}
