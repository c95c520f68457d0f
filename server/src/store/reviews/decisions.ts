/** The table review_decisions: decisions of operators about applications, and their confirmation. */
import type { DecisionLine } from '../../core/reviews/review.ts'
import type { Thresholds } from '../../core/reviews/suspension.ts'
import { operatorsOf } from '../operator/operators.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** As DecisionLine, but with user ids instead of addresses. */
export type ReviewDecision = DecisionLine & {
  readonly reviewId: string
  readonly applicationId: string
  /** Null while it waits for a second operator, and if it was withdrawn. */
  readonly tookEffectAt: number | null
  readonly seen: string
  /** Those by which it was decided. */
  readonly thresholds: Thresholds
  /** Ids of the operators when it was decided. */
  readonly operators: readonly string[]
}

const DECISION = `select d.id, d.review_id as "reviewId", r.application_id as "applicationId", d.decided_at as at,
    d.decided_by as by, d.decision, d.reason, d.words,
    d.interval_seconds as "intervalSeconds", d.needs_second as "needsSecond", d.confirmed_by as "confirmedBy",
    d.confirmed_at as "confirmedAt", d.withdrawn_by as "withdrawnBy", d.withdrawn_at as "withdrawnAt", d.grants,
    d.took_effect_at as "tookEffectAt", d.seen, d.thresholds, d.operators
  from review_decisions d join reviews r on r.id = d.review_id`

export async function findDecision(db: Queryable, id: string): Promise<ReviewDecision | null> {
  const { rows } = await db.query<ReviewDecision>(`${DECISION} where d.id = $1`, [id])
  return rows[0] ?? null
}

/** The decision that waits for a second operator. */
export async function findWaitingDecision(db: Queryable, reviewId: string): Promise<ReviewDecision | null> {
  const { rows } = await db.query<ReviewDecision>(
    `${DECISION} where d.review_id = $1 and d.took_effect_at is null and d.withdrawn_at is null`,
    [reviewId],
  )
  return rows[0] ?? null
}

/** When the latest decision about an application took effect; null if none did. */
export async function readLastEffect(db: Queryable, applicationId: string): Promise<number | null> {
  const { rows } = await db.query<{ at: number | null }>(
    `select max(d.took_effect_at) as at from review_decisions d join reviews r on r.id = d.review_id
     where r.application_id = $1`,
    [applicationId],
  )
  return rows[0]?.at ?? null
}

/** Decisions that revoked grants less than `withinMs` ago. `application`: placeholder or column of its id. */
export const revokingDecisions = (application: string, withinMs: number) =>
  `select d.id from review_decisions d join reviews r on r.id = d.review_id
   where r.application_id = ${application} and d.decision = 'keep_and_revoke'
     and d.took_effect_at > now() - ${withinMs} * interval '1 millisecond'`

export async function listRevokingDecisions(
  db: Queryable,
  applicationId: string,
  withinMs: number,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(revokingDecisions('$1', withinMs), [applicationId])
  return rows.map(({ id }) => id)
}

export type NewDecision = Pick<
  ReviewDecision,
  'id' | 'reviewId' | 'by' | 'decision' | 'reason' | 'words' | 'intervalSeconds' | 'needsSecond' | 'seen' | 'thresholds'
>

export async function insertDecision(tx: Transaction, decision: NewDecision): Promise<void> {
  await tx.query(
    `insert into review_decisions (id, review_id, decided_at, decided_by, decision, reason, words, interval_seconds, needs_second, seen,
       thresholds, operators)
     values ($1, $2, now(), $3, $4, $5, $6, $7, $8, $9, $10,
       ${operatorsOf('(select account_id from users where id = $3)')})`,
    [
      decision.id,
      decision.reviewId,
      decision.by,
      decision.decision,
      decision.reason,
      decision.words,
      decision.intervalSeconds,
      decision.needsSecond,
      decision.seen,
      JSON.stringify(decision.thresholds),
    ],
  )
}

export async function markConfirmed(tx: Transaction, id: string, by: string): Promise<void> {
  await tx.query('update review_decisions set confirmed_by = $2, confirmed_at = now() where id = $1', [id, by])
}

/** `grants`: how many it revoked or restored. */
export async function markTakenEffect(tx: Transaction, id: string, grants: number): Promise<void> {
  await tx.query('update review_decisions set took_effect_at = now(), grants = $2 where id = $1', [id, grants])
}

export async function markWithdrawn(tx: Transaction, id: string, by: string): Promise<void> {
  await tx.query('update review_decisions set withdrawn_by = $2, withdrawn_at = now() where id = $1', [id, by])
}

/** The newest decisions of all reviews of an application. */
export async function listDecisions(db: Queryable, applicationId: string): Promise<readonly DecisionLine[]> {
  const { rows } = await db.query<DecisionLine>({
    name: 'list-decisions',
    text: `select d.id, d.decided_at as at, u.email as by, d.decision, d.reason, d.words, d.interval_seconds as "intervalSeconds",
       d.needs_second as "needsSecond", c.email as "confirmedBy", d.confirmed_at as "confirmedAt",
       w.email as "withdrawnBy", d.withdrawn_at as "withdrawnAt", d.grants
     from review_decisions d join reviews r on r.id = d.review_id join users u on u.id = d.decided_by
       left join users c on c.id = d.confirmed_by left join users w on w.id = d.withdrawn_by
     where r.application_id = $1 order by d.decided_at desc, d.id desc limit 30`,
    values: [applicationId],
  })
  return rows
}
