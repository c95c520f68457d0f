/**
 * Decisions of operators about an application under review: lock, compare with what the operator saw, decide, save. A
 * decision closes the review when it takes effect. It is changed by another decision.
 */
import type { Application } from '../../core/applications/application.ts'
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import {
  type Decision,
  isValidInterval,
  isValidText,
  needsSecondOperator,
  type Reason,
  waitsForSecond,
} from '../../core/reviews/review.ts'
import { createId } from '../../secrets/random.ts'
import { readUser, type User } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readClock } from '../../store/device/partitions.ts'
import { hasLiveGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  findDecision,
  findWaitingDecision,
  insertDecision,
  markConfirmed,
  markWithdrawn,
  type ReviewDecision,
} from '../../store/reviews/decisions.ts'
import {
  findOpenReview,
  findReview,
  lockReviews,
  lockSeen,
  type Review,
  readSeen,
  saveReview,
} from '../../store/reviews/reviews.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'
import { problemOfSecond } from '../operator/second-operator.ts'
import { openReviewByHand } from './open.ts'
import { recordReview, takeEffect } from './take-effect.ts'
import { thresholdsOf } from './thresholds.ts'

export type DecisionWish = {
  readonly applicationId: string
  /** `ReviewedApplication.seen` at the time the operator read the page. */
  readonly seen: string
  readonly decision: Decision
  readonly reason: Reason
  readonly words: string
  readonly intervalSeconds: number | null
}

export type DecisionResult =
  | { readonly outcome: 'decided' | 'waits_for_second' | 'stale' | 'not_found' | 'unfit' }
  | Forbidden

export function decideReview(context: Context, by: string, wish: DecisionWish): Promise<DecisionResult> {
  return asOperator(context, by, async (tx, operator): Promise<DecisionResult> => {
    await lockReviews(tx, wish.applicationId)
    const application = await findLiving(tx, wish.applicationId)
    if (!application) return { outcome: 'not_found' }
    if (!isFit(context, wish)) return { outcome: 'unfit' }
    if ((await lockSeen(tx, application.id)) !== wish.seen) return { outcome: 'stale' }

    const now = await readClock(tx)
    const open = await findOpenReview(tx, application.id)
    const review = open ?? (await openReviewByHand(context, tx, application, now))
    const waiting = await findWaitingDecision(tx, review.id)
    if (waiting) await markAsWithdrawn(tx, operator, waiting)
    const decision = await propose(context, tx, { operator, application, review, wish })
    if (decision.needsSecond) return { outcome: 'waits_for_second' }
    await takeEffect(tx, { application, review, decision, operator, now })
    return { outcome: 'decided' }
  })
}

export type ConfirmationResult =
  | { readonly outcome: 'decided' | 'not_found' | 'stale' }
  | { readonly outcome: 'not_eligible'; readonly problem: ConfirmationProblem }
  | Forbidden

export function confirmDecision(context: Context, by: string, decisionId: string): Promise<ConfirmationResult> {
  return asOperator(context, by, async (tx, operator): Promise<ConfirmationResult> => {
    const decision = await lockWaitingDecision(tx, decisionId)
    const application = decision && (await findLiving(tx, decision.applicationId))
    if (!application) return { outcome: 'not_found' }
    const problem = await problemOfSecond(tx, decision, operator.id)
    if (problem) return { outcome: 'not_eligible', problem }
    const review = await findOpenReview(tx, application.id)
    if (review?.id !== decision.reviewId || (await lockSeen(tx, application.id)) !== decision.seen) {
      return { outcome: 'stale' }
    }
    await markConfirmed(tx, decision.id, operator.id)
    await takeEffect(tx, { application, review, decision, operator, now: await readClock(tx) })
    await notifyOperators(tx, application, decision, operator)
    return { outcome: 'decided' }
  })
}

export type WithdrawalResult = { readonly outcome: 'withdrawn' | 'not_found' } | Forbidden

/** Withdraws a decision that waits for a second operator; any operator may. */
export function withdrawDecision(context: Context, by: string, decisionId: string): Promise<WithdrawalResult> {
  return asOperator(context, by, async (tx, operator): Promise<WithdrawalResult> => {
    const decision = await lockWaitingDecision(tx, decisionId)
    const review = decision && (await findReview(tx, decision.reviewId))
    if (!review) return { outcome: 'not_found' }
    await markAsWithdrawn(tx, operator, decision)
    await saveReview(tx, { ...review, version: review.version + 1 })
    return { outcome: 'withdrawn' }
  })
}

async function lockWaitingDecision(tx: Transaction, id: string): Promise<ReviewDecision | null> {
  const known = await findDecision(tx, id)
  if (!known) return null
  await lockReviews(tx, known.applicationId)
  const decision = await findDecision(tx, id)
  return decision && waitsForSecond(decision) ? decision : null
}

async function markAsWithdrawn(tx: Transaction, operator: User, decision: ReviewDecision): Promise<void> {
  await markWithdrawn(tx, decision.id, operator.id)
  await recordReview(tx, 'review.withdrawn', operator, decision)
}

/** Why this operator may not confirm the decision; null: they may, or there is no such decision. For the page. */
export async function readConfirmationProblem(
  { db }: Pick<Context, 'db'>,
  decisionId: string,
  by: string,
): Promise<ConfirmationProblem | null> {
  const decision = await findDecision(db, decisionId)
  return decision && problemOfSecond(db, decision, by)
}

/** Mails all operators when a decision that needs two of them is proposed, and when it is confirmed. */
async function notifyOperators(
  tx: Transaction,
  application: Application,
  { by, decision }: ReviewDecision,
  operator: User,
): Promise<void> {
  const proposer = by === operator.id ? operator : await readUser(tx, by)
  const confirmedBy = by === operator.id ? null : operator.email
  const { id: applicationId, name } = application
  const detail = { applicationId, application: name, decision, by: proposer?.email ?? '', confirmedBy }
  await notifyAdministrators(tx, operator.accountId, { kind: 'second_decision', detail })
}

async function findLiving(tx: Transaction, applicationId: string): Promise<Application | null> {
  const application = await findApplication(tx, applicationId)
  return application?.deleted ? null : application
}

function isFit({ config }: Context, wish: DecisionWish): boolean {
  const slower = wish.decision === 'reinstate_slower'
  return (
    isValidText(wish.words.trim()) && (!slower || isValidInterval(wish.intervalSeconds, config.pollIntervalSeconds))
  )
}

type Proposal = {
  readonly operator: User
  readonly application: Application
  readonly review: Review
  readonly wish: DecisionWish
}

/** Stores the decision; it has no effect yet. */
async function propose(
  context: Context,
  tx: Transaction,
  { operator, application, review, wish }: Proposal,
): Promise<ReviewDecision> {
  const thresholds = thresholdsOf(context)
  const { decision, reason } = wish
  const needsSecond = needsSecondOperator({
    decision,
    suspended: application.suspended,
    reported: review.reason === 'reports',
    widelyUsed: await hasLiveGrants(tx, application.id, thresholds.secondOperatorGrants),
  })
  // Bump the version: operators who read the page before have not seen that a decision is waiting.
  if (needsSecond) await saveReview(tx, { ...review, version: review.version + 1 })
  const id = createId('dec')
  await insertDecision(tx, {
    ...{ id, decision, reason, needsSecond, thresholds },
    reviewId: review.id,
    by: operator.id,
    words: wish.words.trim(),
    intervalSeconds: decision === 'reinstate_slower' ? wish.intervalSeconds : null,
    seen: (await readSeen(tx, application.id)) ?? '',
  })
  const proposed = await findDecision(tx, id)
  if (!proposed) throw new Error('the decision that was just inserted is missing')
  if (needsSecond) {
    await recordReview(tx, 'review.proposed', operator, proposed)
    await notifyOperators(tx, application, proposed, operator)
  }
  return proposed
}
