/** Model of an application under review, for operators. */
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import type { ProfileRequest, RequestKind, VettingRequest } from '../../core/reviews/queue.ts'
import type { Decision, Reason, ReviewedApplication } from '../../core/reviews/review.ts'

export type OperatorApplicationModel = ReviewedApplication & {
  readonly requests: readonly RequestModel[]
  /** The configured poll interval. */
  readonly usualIntervalSeconds: number
  /** Content of the form of a decision; null: the operator has to authenticate again first. */
  readonly form: DecisionForm | null
  /** The form of a request that came back. */
  readonly answerForm: AnswerForm | null
  /** Why the operator who views the page may not confirm the waiting decision; null: they may, or none waits. */
  readonly confirmationProblem: ConfirmationProblem | null
  readonly notice: null | 'decided' | 'waits_for_second' | 'confirmed' | 'withdrawn' | 'approved' | 'declined'
  readonly problem: null | 'stale' | 'not_eligible' | 'taken'
}

/** Form by which an operator decides. */
export type DecisionForm = {
  /** State that the decision depends on, as of rendering; a mismatch on submit rejects the decision as stale. */
  readonly seen: string
  readonly decision: Decision | null
  readonly reason: Reason | null
  readonly words: string
  readonly intervalSeconds: string
  readonly problem: null | 'decision' | 'reason' | 'words' | 'interval'
}

export type RequestModel =
  | VettingRequest
  /** With addresses of the logos; null: none. */
  | (ProfileRequest & { readonly logoNow: string | null; readonly logo: string | null })

/** What an operator typed in the form of a request, if it came back. */
export type AnswerForm = { readonly kind: RequestKind; readonly words: string; readonly wrong: boolean }
