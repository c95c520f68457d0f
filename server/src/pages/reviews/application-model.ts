/** Model of an application under review, for operators. */
import type { DecisionLine, Series } from '../../core/reviews/review.ts'
import type { Evidence, Thresholds } from '../../core/reviews/suspension.ts'
import type { Publisher } from '../applications/publisher.tsx'
import type { DecisionForm } from './decision-form.ts'
import type { ListedReview } from './line.tsx'
import type { ListedFact } from './timeline.tsx'

export type SeenReview = ListedReview & {
  readonly id: string
  readonly evidence: Evidence
  readonly ruleVersion: number
  readonly dryRun: boolean
  readonly warnedAt: number | null
  readonly appeal: string | null
}

export type OperatorApplicationModel = {
  readonly id: string
  readonly name: string
  readonly account: { readonly slug: string; readonly name: string }
  readonly createdAt: number
  readonly publisher: Publisher
  readonly suspended: boolean
  readonly deviceFlow: boolean
  readonly public: boolean
  readonly pollIntervalSeconds: number
  /** The configured poll interval. */
  readonly usualIntervalSeconds: number
  readonly grants: number
  /** The open review, otherwise the newest. */
  readonly review: SeenReview | null
  readonly decisions: readonly DecisionLine[]
  readonly timeline: readonly ListedFact[]
  readonly series: Series
  readonly reportsByAccounts: number
  /** The rule in force now. */
  readonly rule: { readonly version: number; readonly thresholds: Thresholds }
  /** Content of the form; null: the operator has to authenticate again first. */
  readonly form: DecisionForm | null
  /** The operator who views the page. */
  readonly operator: string
  readonly notice: null | 'decided' | 'waits_for_second' | 'confirmed' | 'undone'
  readonly problem: null | 'stale' | 'same_operator' | 'too_late' | 'not_yours'
}
