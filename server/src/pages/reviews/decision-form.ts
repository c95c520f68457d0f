/** The form by which an operator decides a review. */
import type { Decision, Reason } from '../../core/reviews/review.ts'

export type DecisionForm = {
  /** Of the open review; empty: there is none. */
  readonly reviewId: string
  /** What a decision depends on, as it was when this page was made. */
  readonly seen: string
  readonly decision: Decision | null
  readonly reason: Reason | null
  readonly words: string
  readonly intervalSeconds: string
  readonly problem: null | 'decision' | 'reason' | 'words' | 'interval'
}
