/** Model of an application under review, for operators. */
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import type { ReviewedApplication } from '../../core/reviews/review.ts'
import type { Thresholds } from '../../core/reviews/suspension.ts'
import type { DecisionForm } from './decision-form.ts'

export type OperatorApplicationModel = ReviewedApplication & {
  /** The configured poll interval. */
  readonly usualIntervalSeconds: number
  /** The rule in force now. */
  readonly rule: { readonly version: number; readonly thresholds: Thresholds }
  /** Content of the form; null: the operator has to authenticate again first. */
  readonly form: DecisionForm | null
  /** Why the operator who views the page may not confirm the waiting decision; null: they may, or none waits. */
  readonly confirmationProblem: ConfirmationProblem | null
  readonly notice: null | 'decided' | 'waits_for_second' | 'confirmed' | 'undone'
  readonly problem: null | 'stale' | 'not_eligible' | 'too_late' | 'not_yours'
}
