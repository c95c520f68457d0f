/** Effect of a decision: on the application and its grants, in the audit log, and as a mail to the owner. */
import type { Application } from '../../core/applications/application.ts'
import { byOperator } from '../../core/audit/actor.ts'
import type { ReviewNotification } from '../../core/mail.ts'
import { type Decision, RESTORABLE_MS } from '../../core/reviews/review.ts'
import { figuresOf } from '../../core/reviews/suspension.ts'
import type { User } from '../../store/accounts/users.ts'
import { markApplicationChanged, setPollInterval } from '../../store/applications/applications.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { restoreGrants, revokeGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { listRevokingDecisions, markTakenEffect, type ReviewDecision } from '../../store/reviews/decisions.ts'
import { type Review, saveReview } from '../../store/reviews/reviews.ts'
import { setSuspension } from '../applications/manage.ts'
import { notifyOwners } from './notify.ts'

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
  reinstate_and_restore: 'restored',
  keep: 'kept',
  keep_and_revoke: 'revoked',
}

export async function takeEffect(tx: Transaction, effect: Effect): Promise<void> {
  const { application, review, decision, operator, now } = effect
  const suspended = decision.decision === 'keep' || decision.decision === 'keep_and_revoke'
  const detail = { reason: decision.reason, review: review.id, decision: decision.id }
  if (application.suspended !== suspended)
    await setSuspension(tx, byOperator(operator.id), application.id, suspended, detail)
  else await markApplicationChanged(tx, application.id)
  // A reinstated application gets the default interval, or the slower one of this decision. A suspended one keeps its
  // own.
  if (!suspended) await setPollInterval(tx, application.id, decision.intervalSeconds)
  const grants = await revokeOrRestore(tx, effect)
  await markTakenEffect(tx, decision.id, grants)
  await saveReview(tx, { ...review, closedAt: now, suspensionEndsAt: null, version: review.version + 1 })
  await recordReview(tx, 'review.decided', operator, decision, { grants })
  const { reason, words, intervalSeconds } = decision
  const figures = figuresOf(review.evidence, review.thresholds)
  const what = NOTIFICATIONS[decision.decision]
  await notifyOwners(tx, application, { what, suspended, reason, words, intervalSeconds, figures })
}

/** Returns how many grants. Revoked are all live ones; restored only those that decisions revoked lately. */
async function revokeOrRestore(tx: Transaction, { application, decision, operator }: Effect): Promise<number> {
  const { id } = application
  const actor = byOperator(operator.id)
  if (decision.decision === 'keep_and_revoke')
    return revokeGrants(tx, actor, { applicationId: id, decisionId: decision.id }, 'revoked_by_review')
  let restored = 0
  if (decision.decision === 'reinstate_and_restore') {
    for (const revoking of await listRevokingDecisions(tx, id, RESTORABLE_MS))
      restored += await restoreGrants(tx, actor, id, revoking)
  }
  return restored
}

/** Recorded in the log of the operators' own account: the owner learns what was decided, not by whom. */
export function recordReview(
  tx: Transaction,
  kind: 'review.proposed' | 'review.decided' | 'review.withdrawn',
  operator: User,
  decision: ReviewDecision,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { id, reviewId, applicationId, reason } = decision
  const detail = { review: reviewId, decision: id, decided: decision.decision, reason, ...more }
  return recordEvent(tx, { kind, actor: byOperator(operator.id), accountId: operator.accountId, applicationId, detail })
}
