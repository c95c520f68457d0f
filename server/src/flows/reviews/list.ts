/**
 * Reviews of applications, as operators read them. Decisions are in decide.ts and undo.ts, appeals in appeal.ts.
 * docs/operations.md, "When an application polls too fast".
 */
import { pollIntervalOf } from '../../core/applications/application.ts'
import type { DecisionLine, ReviewedApplication, ReviewLine, Series } from '../../core/reviews/review.ts'
import { peopleTouched } from '../../core/reviews/suspension.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { readMinutes } from '../../store/applications/series.ts'
import { readClock } from '../../store/device/partitions.ts'
import { allowLongQueries, type Queryable } from '../../store/postgres/postgres.ts'
import { findDecisionInEffect, type ListedDecision, listDecisions } from '../../store/reviews/decisions.ts'
import { readReports } from '../../store/reviews/evidence.ts'
import { findReviewedApplication, readTimeline } from '../../store/reviews/reviewed-applications.ts'
import {
  findListedReview,
  findNewestReview,
  type ListedReview,
  listReviews as listStored,
  type ReviewColumn,
  type ReviewState,
  readSeen,
} from '../../store/reviews/reviews.ts'
import { readDaySeries } from '../applications/days.ts'
import type { Context } from '../context.ts'
import { isUndoable } from './undo.ts'

/** Most harmful first, and those closed last first. */
export const usualReviewOrder = {
  open: { sort: 'harm', descending: true },
  closed: { sort: 'closed', descending: true },
} as const

export async function listReviews(
  context: Pick<Context, 'db'>,
  state: ReviewState,
  wish: TableWish<ReviewColumn> = { search: '', after: null, ...usualReviewOrder[state] },
): Promise<TablePage<ReviewLine>> {
  const { lines, after } = await listStored(context.db, state, wish)
  return { lines: lines.map(lineOf), after }
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

export type SeenApplication = ReviewedApplication & {
  /** Version tag of everything that a decision depends on; sent back with the decision. */
  readonly seen: string
}

/** Null if there is no such application. */
export function readReviewedApplication(context: Context, applicationId: string): Promise<SeenApplication | null> {
  return context.db.transaction(async (tx) => {
    // Raises the statement timeout: the most reviewed applications have the most rows.
    await allowLongQueries(tx)
    return readWithLongTimeout(context, tx, applicationId)
  })
}

async function readWithLongTimeout(
  context: Context,
  db: Queryable,
  applicationId: string,
): Promise<SeenApplication | null> {
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

async function readSeries(context: Context, db: Queryable, applicationId: string): Promise<Series> {
  const minutes = await readMinutes(db, applicationId, HOURS)
  return {
    // Early polls do not restart the interval, so the remaining polls are as many as were allowed.
    minutes: minutes.map((point) => ({ ...point, allowed: Math.max(0, point.polls - point.early) })),
    days: await readDaySeries(context, db, applicationId),
  }
}
