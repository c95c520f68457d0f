/** The table reviews: why an application is under review, the evidence, and the state of the case. */
import type { ReviewReason, ReviewView } from '../../core/reviews/review.ts'
import type { Evidence, Thresholds, Verdict } from '../../core/reviews/suspension.ts'
import { lockApplicationChanges } from '../applications/applications.ts'
import { lockByName, tryLockByName } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type Review = {
  readonly id: string
  readonly applicationId: string
  readonly openedAt: number
  readonly reason: ReviewReason
  readonly verdict: Verdict
  readonly harm: number
  /** From the opening, or from the last judgement with a verdict above `observe`. */
  readonly evidence: Evidence
  /** Those by which the evidence was counted and judged. */
  readonly thresholds: Thresholds
  readonly judgedAt: number
  readonly lastEscalatedAt: number
  readonly warnedAt: number | null
  /** Suspended by the rule, not by an operator. */
  readonly suspendedAt: number | null
  readonly suspensionEndsAt: number | null
  readonly appealedAt: number | null
  readonly appealedBy: string | null
  readonly appeal: string | null
  readonly closedAt: number | null
  /** Incremented by every change that an operator should see before deciding. */
  readonly version: number
}

const COLUMNS = `r.id, r.application_id as "applicationId", r.opened_at as "openedAt", r.reason, r.verdict, r.harm, r.evidence,
    r.thresholds, r.judged_at as "judgedAt", r.last_escalated_at as "lastEscalatedAt",
    r.warned_at as "warnedAt", r.suspended_at as "suspendedAt", r.suspension_ends_at as "suspensionEndsAt",
    r.appealed_at as "appealedAt", r.appealed_by as "appealedBy", r.appeal, r.closed_at as "closedAt", r.version`

const REVIEW = `select ${COLUMNS} from reviews r`

/** Serializes judgements, decisions and appeals about one application. */
export async function lockReviews(tx: Transaction, applicationId: string): Promise<void> {
  await lockByName(tx, `review:${applicationId}`)
}

/** False when another process is reading evidence. */
export function tryLockJudging(tx: Transaction): Promise<boolean> {
  return tryLockByName(tx, 'judging')
}

/** False when another process is reminding operators. */
export function tryLockReminding(tx: Transaction): Promise<boolean> {
  return tryLockByName(tx, 'reminding')
}

export async function findOpenReview(db: Queryable, applicationId: string): Promise<Review | null> {
  const { rows } = await db.query<Review>(`${REVIEW} where r.application_id = $1 and r.closed_at is null`, [
    applicationId,
  ])
  return rows[0] ?? null
}

/** The open review, otherwise the newest closed one. */
const NEWEST = 'where r.application_id = $1 order by r.closed_at is null desc, r.opened_at desc, r.id limit 1'

export async function findNewestReview(db: Queryable, applicationId: string): Promise<Review | null> {
  const { rows } = await db.query<Review>(`${REVIEW} ${NEWEST}`, [applicationId])
  return rows[0] ?? null
}

export async function findReview(db: Queryable, id: string): Promise<Review | null> {
  const { rows } = await db.query<Review>(`${REVIEW} where r.id = $1`, [id])
  return rows[0] ?? null
}

export async function insertReview(tx: Transaction, review: Review): Promise<void> {
  await tx.query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at, last_escalated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      review.id,
      review.applicationId,
      new Date(review.openedAt),
      review.reason,
      review.verdict,
      review.harm,
      JSON.stringify(review.evidence),
      JSON.stringify(review.thresholds),
      new Date(review.judgedAt),
      new Date(review.lastEscalatedAt),
    ],
  )
  await saveReview(tx, review)
}

/** Saves every mutable column. Call under `lockReviews`. */
export async function saveReview(tx: Transaction, review: Review): Promise<void> {
  const moment = (ms: number | null) => (ms === null ? null : new Date(ms))
  await tx.query(
    `update reviews set reason = $2, verdict = $3, harm = $4, evidence = $5, thresholds = $6, judged_at = $7,
       last_escalated_at = $8, warned_at = $9, suspended_at = $10, suspension_ends_at = $11, appealed_at = $12, appealed_by = $13,
       appeal = $14, closed_at = $15, version = $16
     where id = $1`,
    [
      review.id,
      review.reason,
      review.verdict,
      review.harm,
      JSON.stringify(review.evidence),
      JSON.stringify(review.thresholds),
      moment(review.judgedAt),
      moment(review.lastEscalatedAt),
      moment(review.warnedAt),
      moment(review.suspendedAt),
      moment(review.suspensionEndsAt),
      moment(review.appealedAt),
      review.appealedBy,
      review.appeal,
      moment(review.closedAt),
      review.version,
    ],
  )
}

/**
 * Version of what a deciding operator sees: the open review and the application. Changes with both, but not with every
 * new figure. For a query over `applications a` with `OPEN_REVIEW`.
 */
export const SEEN = `concat_ws('.', coalesce(r.id::text, 'none'), coalesce(r.version, 0), a.change_number)`

export const OPEN_REVIEW = 'left join reviews r on r.application_id = a.id and r.closed_at is null'

/**
 * Reads `SEEN` under the lock of every change of an application, so that it holds until the transaction ends. Null when
 * there is no such application.
 */
export async function lockSeen(tx: Transaction, applicationId: string): Promise<string | null> {
  await lockApplicationChanges(tx)
  return readSeen(tx, applicationId)
}

/** Null when there is no such application. */
export async function readSeen(db: Queryable, applicationId: string): Promise<string | null> {
  const { rows } = await db.query<{ seen: string }>(
    `select ${SEEN} as seen from applications a ${OPEN_REVIEW} where a.id = $1 and a.deleted_at is null`,
    [applicationId],
  )
  return rows[0]?.seen ?? null
}

/**
 * A suspension waits from the moment when the application was both suspended and under review. For a query over
 * `applications a`.
 */
const waitingSince = (openedAt: string) => `greatest(a.suspended_at, ${openedAt})`

/** Columns of a ReviewLine, for a query over `reviews r`, `applications a` and `accounts c`. */
export const REVIEW_LINE = `r.id, r.application_id as "applicationId", a.name as application, c.slug as account, r.reason, r.verdict,
    r.harm, r.opened_at as "openedAt", r.closed_at as "closedAt", a.suspended_at is not null as suspended,
    r.suspension_ends_at as "suspensionEndsAt", r.appealed_at as "appealedAt",
    exists (select from review_decisions d
      where d.review_id = r.id and d.took_effect_at is null and d.withdrawn_at is null) as "waitsForSecond",
    case when r.closed_at is null and a.suspended_at is not null then ${waitingSince('r.opened_at')} end as "waitingSince",
    greatest((r.evidence->>'touched')::integer, (r.evidence->>'reports')::integer) as people,
    (r.evidence->>'factor')::float8 as factor`

/** The open review, otherwise the newest closed one. */
export async function findReviewView(db: Queryable, applicationId: string): Promise<ReviewView | null> {
  const { rows } = await db.query<ReviewView>({
    name: 'find-review-view',
    text: `select ${REVIEW_LINE}, r.evidence, r.thresholds, r.warned_at as "warnedAt", r.appeal
     from reviews r join applications a on a.id = r.application_id join accounts c on c.id = a.account_id ${NEWEST}`,
    values: [applicationId],
  })
  return rows[0] ?? null
}

export type WaitingSuspension = { readonly application: string; readonly since: number }

/** Suspended applications with an open review, longest waiting first. */
export async function listWaitingSuspensions(db: Queryable): Promise<readonly WaitingSuspension[]> {
  const { rows } = await db.query<WaitingSuspension>(
    `select a.name as application, ${waitingSince('r.opened_at')} as since
     from reviews r join applications a on a.id = r.application_id
     where r.closed_at is null and a.suspended_at is not null and a.deleted_at is null order by since, r.id`,
  )
  return rows
}
