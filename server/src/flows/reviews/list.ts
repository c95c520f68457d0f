/**
 * The queue of operators, and one application with all that they decide about. Decisions are in decide.ts, answers to
 * requests in answer-request.ts, appeals in appeal.ts.
 * docs/operations/operator-console.md, "When an application polls too fast".
 */
import { pollIntervalOf } from '../../core/applications/application.ts'
import type { DeveloperRequest } from '../../core/reviews/queue.ts'
import type { ReviewedApplication, ReviewLine, Series } from '../../core/reviews/review.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { findProfileRequest } from '../../store/applications/proposals.ts'
import { readMinutes } from '../../store/applications/series.ts'
import { findVettingRequest } from '../../store/applications/vettings.ts'
import { allowLongQueries, type Queryable } from '../../store/postgres/postgres.ts'
import { listDecisions } from '../../store/reviews/decisions.ts'
import { readReports } from '../../store/reviews/evidence.ts'
import { listQueue, type QueueColumn, type QueueState } from '../../store/reviews/queue.ts'
import { findReviewedApplication, readTimeline } from '../../store/reviews/reviewed-applications.ts'
import { findReviewView } from '../../store/reviews/reviews.ts'
import { readDaySeries } from '../applications/days.ts'
import type { Context } from '../context.ts'

/** Without requests of developers. */
export async function listReviews(
  { db }: Pick<Context, 'db'>,
  state: QueueState,
  wish?: TableWish<QueueColumn>,
): Promise<TablePage<ReviewLine>> {
  const { lines, after } = await listQueue(db, state, 'suspension', wish)
  return { lines: lines.filter((line) => line.kind === 'suspension'), after }
}

export type SeenApplication = ReviewedApplication & {
  /** What its developers ask for, and the approval that they have got. */
  readonly requests: readonly DeveloperRequest[]
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
  return {
    ...application,
    pollIntervalSeconds: pollIntervalOf(application, config.pollIntervalSeconds),
    review: await findReviewView(db, applicationId),
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
