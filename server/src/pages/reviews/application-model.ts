/** An application under review, as operators see it. */
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
  /** As configured. */
  readonly usualIntervalSeconds: number
  readonly grants: number
  /** The open one, otherwise the newest. */
  readonly review: SeenReview | null
  readonly decisions: readonly DecisionLine[]
  readonly timeline: readonly ListedFact[]
  readonly series: Series
  readonly reportsByAccounts: number
  /** Those that hold now. */
  readonly rule: { readonly version: number; readonly thresholds: Thresholds }
  /** What is in the form; null: whoever looks has to prove first that it is they. */
  readonly form: DecisionForm | null
  /** Who looks. */
  readonly operator: string
  readonly notice: null | 'decided' | 'waits_for_second' | 'confirmed' | 'undone'
  readonly problem: null | 'stale' | 'same_operator' | 'too_late' | 'not_yours'
}
