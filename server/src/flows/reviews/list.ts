/**
 * The queue of operators, and one application with all that they decide about. Decisions are in decide.ts, answers to
 * requests in answer-request.ts, appeals in appeal.ts.
 * docs/operations/operator-console.md, "When an application polls too fast".
 */
import { pollIntervalOf } from '../../core/applications/application.ts'
import type { QueueKind, QueueLine, Request } from '../../core/reviews/queue.ts'
import type { ReviewedApplication, ReviewLine, Series } from '../../core/reviews/review.ts'
import { peopleTouched } from '../../core/reviews/suspension.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { findProfileRequest } from '../../store/applications/proposals.ts'
import { readMinutes } from '../../store/applications/series.ts'
import { findVettingRequest } from '../../store/applications/vettings.ts'
import { allowLongQueries, type Queryable } from '../../store/postgres/postgres.ts'
import { listDecisions } from '../../store/reviews/decisions.ts'
import { readReports } from '../../store/reviews/evidence.ts'
import { type QueueColumn, type QueueRow, type QueueState, listQueue as readQueue } from '../../store/reviews/queue.ts'
import { findReviewedApplication, readTimeline } from '../../store/reviews/reviewed-applications.ts'
import { findNewestListedReview, type ListedReview } from '../../store/reviews/reviews.ts'
import { readDaySeries } from '../applications/days.ts'
import type { Context } from '../context.ts'

/** Most harmful first, and those closed last first. */
export const usualQueueOrder = {
  open: { sort: 'harm', descending: true },
  closed: { sort: 'closed', descending: true },
} as const

/** `kind`: null for all. */
export async function listQueue(
  context: Pick<Context, 'db'>,
  state: QueueState,
  kind: QueueKind | null = null,
  wish: TableWish<QueueColumn> = { search: '', after: null, ...usualQueueOrder[state] },
): Promise<TablePage<QueueLine>> {
  const { lines, after } = await readQueue(context.db, state, kind, wish)
  return { lines: lines.map(queueLineOf), after }
}

/** Only those of the kind `suspension`. */
export async function listReviews(
  context: Pick<Context, 'db'>,
  state: QueueState,
  wish?: TableWish<QueueColumn>,
): Promise<TablePage<ReviewLine>> {
  const { lines, after } = await listQueue(context, state, 'suspension', wish)
  return { lines: lines.filter((line) => line.kind === 'suspension'), after }
}

function queueLineOf(row: QueueRow): QueueLine {
  if (row.kind === 'suspension') return { kind: row.kind, ...reviewLineOf(row) }
  const { id, applicationId, application, account, openedAt, closedAt, suspended } = row
  const line = { id, applicationId, application, account, openedAt, closedAt, suspended }
  if (row.kind === 'vetting') return { ...line, kind: row.kind, outsideGrants: row.outsideGrants }
  return { ...line, kind: row.kind, name: row.newName, logo: row.newLogo }
}

function reviewLineOf(review: ListedReview): ReviewLine {
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
  /** What its developers ask for, and the approval that they have got. */
  readonly requests: readonly Request[]
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
  // Read first, with `seen`: a change during the following reads then makes the decision stale, instead of going unnoticed.
  const found = await findReviewedApplication(db, applicationId)
  if (!found) return null
  const { readAt, ...application } = found
  const review = await findNewestListedReview(db, applicationId)
  return {
    ...application,
    pollIntervalSeconds: pollIntervalOf(application, config.pollIntervalSeconds),
    review: review && {
      ...reviewLineOf(review),
      evidence: review.evidence,
      thresholds: review.thresholds,
      warnedAt: review.warnedAt,
      appeal: review.appeal,
    },
    requests: [await findVettingRequest(db, applicationId), await findProfileRequest(db, applicationId)].filter(
      (request) => request !== null,
    ),
    decisions: await listDecisions(db, applicationId),
    timeline: await readTimeline(db, applicationId),
    series: await readSeries(context, db, applicationId),
    reportsByAccounts: (await readReports(db, [applicationId], readAt)).get(applicationId) ?? 0,
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
