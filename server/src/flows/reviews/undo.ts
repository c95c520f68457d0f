/** Undo of a decision: restores the previous state of the application and reopens the review. */
import type { Application } from '../../core/applications/application.ts'
import { byOperator } from '../../core/audit/actor.ts'
import { UNDOABLE_MS } from '../../core/reviews/review.ts'
import { figuresOf } from '../../core/reviews/suspension.ts'
import type { User } from '../../store/accounts/users.ts'
import { findApplication, markApplicationChanged, setPollInterval } from '../../store/applications/applications.ts'
import { readClock } from '../../store/device/partitions.ts'
import { restoreGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  type Before,
  findDecision,
  findDecisionInEffect,
  markUndone,
  type ReviewDecision,
} from '../../store/reviews/decisions.ts'
import { findOpenReview, findReview, lockReviews, type Review, saveReview } from '../../store/reviews/reviews.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import { setSuspension } from '../applications/manage.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'
import { recordReview } from './decide.ts'
import { notifyOwners } from './notify.ts'

export type UndoResult = { readonly outcome: 'undone' | 'not_found' | 'too_late' } | Forbidden

const NOT_FOUND: UndoResult = { outcome: 'not_found' }

/** Undoes a decision, or withdraws one that waits for a second operator. */
export function undoDecision(context: Context, by: string, decisionId: string): Promise<UndoResult> {
  return asOperator(context, by, async (tx, operator): Promise<UndoResult> => {
    const known = await findDecision(tx, decisionId)
    if (!known) return NOT_FOUND
    await lockReviews(tx, known.applicationId)
    const decision = await findDecision(tx, decisionId)
    const application = await findApplication(tx, known.applicationId)
    const review = await findReview(tx, known.reviewId)
    if (!decision || !review || !application || application.deleted || decision.undoneAt !== null) return NOT_FOUND
    const { before } = decision
    if (!before) return withdraw(tx, operator, decision, review)
    const now = await readClock(tx)
    const inEffect = await findDecisionInEffect(tx, application.id)
    if (inEffect?.id !== decision.id || !isUndoable(decision, now)) return { outcome: 'too_late' }
    if (!mayUndo(operator, decision, review, before)) return { outcome: 'forbidden' }
    await undo(tx, { operator, application, review, decision, before, now })
    return { outcome: 'undone' }
  })
}

export function isUndoable({ tookEffectAt, undoneAt }: ReviewDecision, now: number): boolean {
  return undoneAt === null && (tookEffectAt === null || now - tookEffectAt < UNDOABLE_MS)
}

/**
 * Operators may always undo their own decision. If undoing reinstates an application that users reported, only the
 * operators who decided or confirmed may undo: for others it would bypass the second operator, so they have to decide
 * anew.
 */
function mayUndo(operator: User, decision: ReviewDecision, review: Review, before: Before): boolean {
  const lifts = !before.suspended && (decision.decision === 'keep' || decision.decision === 'keep_and_revoke')
  return !lifts || review.reason !== 'reports' || [decision.by, decision.confirmedBy].includes(operator.id)
}

async function withdraw(
  tx: Transaction,
  operator: User,
  decision: ReviewDecision,
  review: Review,
): Promise<UndoResult> {
  await markUndone(tx, decision.id, operator.id)
  await saveReview(tx, { ...review, version: review.version + 1 })
  await recordReview(tx, 'review.undone', operator, decision, { withdrawn: true })
  return { outcome: 'undone' }
}

type Undoing = {
  readonly operator: User
  readonly application: Application
  readonly review: Review
  readonly decision: ReviewDecision
  readonly before: Before
  readonly now: number
}

async function undo(tx: Transaction, undoing: Undoing): Promise<void> {
  const { operator, application, review, decision, before, now } = undoing
  const detail = { reason: 'decision_undone' as const, review: review.id, decision: decision.id }
  if (application.suspended !== before.suspended) {
    await setSuspension(tx, byOperator(operator.id), application.id, before.suspended, detail)
  } else await markApplicationChanged(tx, application.id)
  await setPollInterval(tx, application.id, before.pollIntervalSeconds)
  const revived =
    decision.decision === 'keep_and_revoke'
      ? await restoreGrants(tx, byOperator(operator.id), application.id, decision.id)
      : 0
  await markUndone(tx, decision.id, operator.id)
  await reopen(tx, review, before, now)
  await recordReview(tx, 'review.undone', operator, decision, { revived })
  const figures = figuresOf(review.evidence, review.thresholds)
  await notifyOwners(tx, application, { what: 'undone', suspended: before.suspended, figures })
}

/** Reopens the review. A suspension with an end gets the time back that it had left at the decision. */
async function reopen(tx: Transaction, review: Review, before: Before, now: number): Promise<void> {
  // A new review was opened meanwhile; leave this one closed.
  if (await findOpenReview(tx, review.applicationId)) return
  const { suspended, suspensionLeftMs } = before
  const suspensionEndsAt = suspended && suspensionLeftMs !== null ? now + suspensionLeftMs : null
  await saveReview(tx, { ...review, closedAt: null, suspensionEndsAt, version: review.version + 1 })
}
