/** Opening of reviews: by the rule, by an operator who decides without one, or by an owner who appeals. */
import type { Application } from '../../core/applications/application.ts'
import type { ReviewReason } from '../../core/reviews/review.ts'
import { harm, judge, type Thresholds } from '../../core/reviews/suspension.ts'
import { createId } from '../../secrets/random.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { findNewestReview, insertReview, type Review } from '../../store/reviews/reviews.ts'
import type { Context } from '../context.ts'
import { readEvidence } from './read-evidence.ts'
import { thresholdsOf } from './thresholds.ts'

const NO_EVIDENCE: Omit<Review['evidence'], 'now'> = {
  windows: [],
  touched: 0,
  factor: null,
  reports: 0,
  funnel: { requested: 0, entered: 0, granted: 0 },
  warnedAt: null,
}

/** A new review without evidence. */
export function openedReview(applicationId: string, reason: ReviewReason, thresholds: Thresholds, now: number): Review {
  return {
    id: createId('rev'),
    ...{ applicationId, reason },
    openedAt: now,
    verdict: 'fine',
    harm: 0,
    evidence: { ...NO_EVIDENCE, now },
    thresholds,
    judgedAt: now,
    lastEscalatedAt: now,
    warnedAt: null,
    suspendedAt: null,
    suspensionEndsAt: null,
    appealedAt: null,
    appealedBy: null,
    appeal: null,
    closedAt: null,
    version: 1,
  }
}

/**
 * Opens a review for a person, with the current evidence. The review of a suspended application keeps the previous
 * review's reason: a suspension because of reports must not become an ordinary one by a new review.
 */
export async function openReviewByHand(
  context: Context,
  tx: Transaction,
  application: Application,
  now: number,
): Promise<Review> {
  const before = application.suspended ? await findNewestReview(tx, application.id) : null
  const thresholds = thresholdsOf(context)
  const evidence = await readEvidence(context, tx, application.id, { thresholds, now, warnedAt: null })
  const review: Review = {
    ...openedReview(application.id, before?.reason ?? 'operator', thresholds, now),
    evidence,
    verdict: judge(evidence, thresholds).verdict,
    harm: harm(evidence),
  }
  await insertReview(tx, review)
  return review
}
