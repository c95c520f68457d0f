/** The table review_decisions: decisions of operators about applications, their confirmation and their reversal. */
import type { DecisionLine } from '../../core/reviews/review.ts'
import type { Thresholds } from '../../core/reviews/suspension.ts'
import { operatorsOf } from '../operator/operators.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** State of the application before a decision, for undoing it. */
export type Before = {
  readonly suspended: boolean
  /** Remaining time of a suspension with an end. */
  readonly suspensionLeftMs: number | null
  readonly pollIntervalSeconds: number | null
}

/** As DecisionLine, but with user ids instead of addresses. */
export type ReviewDecision = Omit<DecisionLine, 'undoable'> & {
  readonly reviewId: string
  readonly applicationId: string
  /** Null while it waits for a second operator. */
  readonly tookEffectAt: number | null
  readonly before: Before | null
  readonly seen: string
  /** Ids of the operators when it was decided. */
  readonly operators: readonly string[]
}

const DECISION = `select d.id, d.review_id as "reviewId", r.application_id as "applicationId", d.decided_at as at,
    d.decided_by as by, d.decision, d.reason, d.words,
    d.interval_seconds as "intervalSeconds", d.needs_second as "needsSecond", d.confirmed_by as "confirmedBy",
    d.confirmed_at as "confirmedAt", d.undone_by as "undoneBy", d.undone_at as "undoneAt", d.revoked,
    d.took_effect_at as "tookEffectAt", d.previous_state as before, d.seen, d.operators
  from review_decisions d join reviews r on r.id = d.review_id`

export async function findDecision(db: Queryable, id: string): Promise<ReviewDecision | null> {
  const { rows } = await db.query<ReviewDecision>(`${DECISION} where d.id = $1`, [id])
  return rows[0] ?? null
}

/** The decision that waits for a second operator. */
export async function findWaitingDecision(db: Queryable, reviewId: string): Promise<ReviewDecision | null> {
  const { rows } = await db.query<ReviewDecision>(
    `${DECISION} where d.review_id = $1 and d.took_effect_at is null and d.undone_at is null`,
    [reviewId],
  )
  return rows[0] ?? null
}

/** The latest decision that took effect and was not undone. */
const IN_EFFECT = `where r.application_id = $1 and d.took_effect_at is not null and d.undone_at is null
  order by d.took_effect_at desc, d.id desc limit 1`

export async function findDecisionInEffect(db: Queryable, applicationId: string): Promise<ReviewDecision | null> {
  const { rows } = await db.query<ReviewDecision>(`${DECISION} ${IN_EFFECT}`, [applicationId])
  return rows[0] ?? null
}

export type NewDecision = Pick<
  ReviewDecision,
  'id' | 'reviewId' | 'by' | 'decision' | 'reason' | 'words' | 'intervalSeconds' | 'needsSecond' | 'seen'
> & {
  /** Those by which it was decided. */
  readonly thresholds: Thresholds
}

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

export async function markTakenEffect(tx: Transaction, id: string, before: Before, revoked: number): Promise<void> {
  await tx.query(
    'update review_decisions set took_effect_at = now(), previous_state = $2, revoked = $3 where id = $1',
    [id, JSON.stringify(before), revoked],
  )
}

export async function markUndone(tx: Transaction, id: string, by: string): Promise<void> {
  await tx.query('update review_decisions set undone_by = $2, undone_at = now() where id = $1', [id, by])
}

export type ListedDecision = ReviewDecision & {
  readonly byEmail: string
  readonly confirmedByEmail: string | null
  readonly undoneByEmail: string | null
  /** `findDecisionInEffect`. */
  readonly inEffect: boolean
}

/** The newest decisions of all reviews of an application. */
export async function listDecisions(db: Queryable, applicationId: string): Promise<readonly ListedDecision[]> {
  const { rows } = await db.query<ListedDecision>({
    name: 'list-decisions',
    text: `select decision.*, u.email as "byEmail", c.email as "confirmedByEmail", n.email as "undoneByEmail",
       decision.id is not distinct from (
         select d.id from review_decisions d join reviews r on r.id = d.review_id ${IN_EFFECT}) as "inEffect"
     from (${DECISION} where r.application_id = $1) decision join users u on u.id = decision.by
       left join users c on c.id = decision."confirmedBy" left join users n on n.id = decision."undoneBy"
     order by decision.at desc, decision.id desc limit 30`,
    values: [applicationId],
  })
  return rows
}
