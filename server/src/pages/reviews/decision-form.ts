/** Form by which an operator decides a review. */
import type { Decision, Reason } from '../../core/reviews/review.ts'

export type DecisionForm = {
  /** The open review; empty if there is none. */
  readonly reviewId: string
  /** State that the decision depends on, as of rendering; a mismatch on submit rejects the decision as stale. */
  readonly seen: string
  readonly decision: Decision | null
  readonly reason: Reason | null
  readonly words: string
  readonly intervalSeconds: string
  readonly problem: null | 'decision' | 'reason' | 'words' | 'interval'
}
