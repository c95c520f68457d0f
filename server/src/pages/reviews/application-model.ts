/** Model of an application under review, for operators. */
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
  /** The operator who views the page. */
  readonly operator: string
  readonly notice: null | 'decided' | 'waits_for_second' | 'confirmed' | 'undone'
  readonly problem: null | 'stale' | 'same_operator' | 'too_late' | 'not_yours'
}
