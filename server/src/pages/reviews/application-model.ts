/** Model of an application under review, for operators. */
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import type { ReviewedApplication } from '../../core/reviews/review.ts'
import type { DecisionForm } from './decision-form.ts'

export type OperatorApplicationModel = ReviewedApplication & {
  /** The configured poll interval. */
  readonly usualIntervalSeconds: number
  /** Content of the form; null: the operator has to authenticate again first. */
  readonly form: DecisionForm | null
  /** Why the operator who views the page may not confirm the waiting decision; null: they may, or none waits. */
  readonly confirmationProblem: ConfirmationProblem | null
  readonly notice: null | 'decided' | 'waits_for_second' | 'confirmed' | 'withdrawn'
  readonly problem: null | 'stale' | 'not_eligible'
}
