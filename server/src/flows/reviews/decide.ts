/**
 * Decisions of operators about an application under review: lock, compare with what the operator saw, decide, save,
 * notify the owner. A decision closes the review; flows/reviews/undo.ts reopens it.
 */
import type { Application } from '../../core/applications/application.ts'
import { byOperator } from '../../core/audit/actor.ts'
import type { ReviewNotification } from '../../core/mail.ts'
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import {
  type Decision,
  isValidInterval,
  isValidText,
  needsSecondOperator,
  type Reason,
} from '../../core/reviews/review.ts'
import { figuresOf } from '../../core/reviews/suspension.ts'
import { createId } from '../../secrets/random.ts'
import { readUser, type User } from '../../store/accounts/users.ts'
import { findApplication, markApplicationChanged, setPollInterval } from '../../store/applications/applications.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { readClock } from '../../store/device/partitions.ts'
import { hasLiveGrants, revokeGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  type Before,
  findDecision,
  findWaitingDecision,
  insertDecision,
  markConfirmed,
  markTakenEffect,
  markUndone,
  type ReviewDecision,
} from '../../store/reviews/decisions.ts'
import {
  findOpenReview,
  findReview,
  lockReviews,
  type Review,
  readSeen,
  saveReview,
} from '../../store/reviews/reviews.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import { setSuspension } from '../applications/manage.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'
import { problemOfSecond } from '../operator/second-operator.ts'
import { notifyOwners } from './notify.ts'
import { openReviewByHand } from './open.ts'
import { thresholdsOf } from './thresholds.ts'

export type DecisionWish = {
  readonly applicationId: string
  /** Null without an open review. */
  readonly reviewId: string | null
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
    if (!application || !(await isReviewOf(tx, wish))) return { outcome: 'not_found' }
    if (!isFit(context, wish)) return { outcome: 'unfit' }
    const open = await findOpenReview(tx, application.id)
    const seen = await readSeen(tx, application.id)
    if ((open?.id ?? null) !== wish.reviewId || seen !== wish.seen) return { outcome: 'stale' }

    const now = await readClock(tx)
    const review = open ?? (await openReviewByHand(context, tx, application, now))
    const waiting = await findWaitingDecision(tx, review.id)
    if (waiting) await withdraw(tx, operator, waiting)
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
    const known = await findDecision(tx, decisionId)
    if (known) await lockReviews(tx, known.applicationId)
    const decision = known && (await findDecision(tx, decisionId))
    const application = decision && (await findLiving(tx, decision.applicationId))
    if (!application || decision.tookEffectAt !== null || decision.undoneAt !== null) return { outcome: 'not_found' }
    const problem = await problemOfSecond(tx, decision, operator.id)
    if (problem) return { outcome: 'not_eligible', problem }
    const review = await findOpenReview(tx, application.id)
    if (review?.id !== decision.reviewId || (await readSeen(tx, application.id)) !== decision.seen) {
      return { outcome: 'stale' }
    }
    await markConfirmed(tx, decision.id, operator.id)
    await takeEffect(tx, { application, review, decision, operator, now: await readClock(tx) })
    await notifyOperators(tx, application, decision, operator)
    return { outcome: 'decided' }
  })
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

async function isReviewOf(tx: Transaction, { applicationId, reviewId }: DecisionWish): Promise<boolean> {
  return reviewId === null || (await findReview(tx, reviewId))?.applicationId === applicationId
}

function isFit({ config }: Context, wish: DecisionWish): boolean {
  const slower = wish.decision === 'reinstate_slower'
  return (
    isValidText(wish.words.trim()) && (!slower || isValidInterval(wish.intervalSeconds, config.pollIntervalSeconds))
  )
}

async function withdraw(tx: Transaction, operator: User, waiting: ReviewDecision): Promise<void> {
  await markUndone(tx, waiting.id, operator.id)
  await recordReview(tx, 'review.undone', operator, waiting, { withdrawn: true })
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

type Effect = {
  readonly application: Application
  readonly review: Review
  readonly decision: ReviewDecision
  /** The operator whose decision or confirmation made it take effect. */
  readonly operator: User
  readonly now: number
}

const NOTIFICATIONS: Readonly<Record<Decision, ReviewNotification['what']>> = {
  reinstate: 'reinstated',
  reinstate_slower: 'slowed',
  keep: 'kept',
  keep_and_revoke: 'revoked',
}

async function takeEffect(tx: Transaction, { application, review, decision, operator, now }: Effect): Promise<void> {
  const suspended = decision.decision === 'keep' || decision.decision === 'keep_and_revoke'
  const detail = { reason: decision.reason, review: review.id, decision: decision.id }
  const before = suspensionOf(application, review, now)
  if (application.suspended !== suspended)
    await setSuspension(tx, byOperator(operator.id), application.id, suspended, detail)
  else await markApplicationChanged(tx, application.id)
  // A reinstated application gets the default interval, or the slower one of this decision. A suspended one keeps its
  // own.
  if (!suspended) await setPollInterval(tx, application.id, decision.intervalSeconds)
  const revoked = await revokeUntilUndone(tx, operator, application.id, decision)
  await markTakenEffect(tx, decision.id, before, revoked)
  const { version } = review
  await saveReview(tx, { ...review, closedAt: now, suspensionEndsAt: null, version: version + 1 })
  await recordReview(tx, 'review.decided', operator, decision, { revoked })
  const { reason, words, intervalSeconds } = decision
  const figures = figuresOf(review.evidence, review.thresholds)
  await notifyOwners(tx, application, {
    what: NOTIFICATIONS[decision.decision],
    ...{ suspended, reason, words, intervalSeconds, figures },
  })
}

/**
 * For `keep_and_revoke`: revokes every live grant of the application until the decision is undone. Returns how many.
 */
async function revokeUntilUndone(
  tx: Transaction,
  operator: User,
  applicationId: string,
  { id, decision }: ReviewDecision,
): Promise<number> {
  if (decision !== 'keep_and_revoke') return 0
  return revokeGrants(tx, byOperator(operator.id), { applicationId, decisionId: id }, 'revoked_by_review')
}

function suspensionOf(application: Application, { suspensionEndsAt }: Review, now: number): Before {
  const { suspended, pollIntervalSeconds } = application
  const suspensionLeftMs = suspensionEndsAt === null ? null : Math.max(0, suspensionEndsAt - now)
  return { suspended, pollIntervalSeconds, suspensionLeftMs }
}

/** Recorded in the log of the operators' own account: the owner learns what was decided, not by whom. */
export function recordReview(
  tx: Transaction,
  kind: 'review.proposed' | 'review.decided' | 'review.undone',
  operator: User,
  decision: ReviewDecision,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { id, reviewId, applicationId, reason } = decision
  const detail = { review: reviewId, decision: id, decided: decision.decision, reason, ...more }
  return recordEvent(tx, { kind, actor: byOperator(operator.id), accountId: operator.accountId, applicationId, detail })
}
