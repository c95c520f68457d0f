/** Changes that give a user access as an operator. */
import type { ConfirmationProblem } from './second-operator.ts'

/** `reset`: removes every sign-in method and sends a new link. */
export const operatorChanges = ['create', 'promote', 'enable', 'reset'] as const

export type OperatorChangeKind = (typeof operatorChanges)[number]

export const operatorChangeOutcomes = ['confirmed', 'declined', 'withdrawn', 'expired'] as const

export type OperatorChangeOutcome = (typeof operatorChangeOutcomes)[number]

/** A proposal that nobody confirms within a week is over: its reasons may no longer hold. */
export const CONFIRMABLE_MS = 7 * 24 * 60 * 60 * 1000

/** A pending change, as an operator sees it. */
export type OperatorChangeLine = {
  readonly id: string
  readonly change: OperatorChangeKind
  /** The user concerned. */
  readonly email: string
  /** E-mail address of the proposer. */
  readonly by: string
  /** Proposed by the operator who sees it. */
  readonly own: boolean
  readonly proposedAt: number
  readonly expiresAt: number
  /** Why the operator who sees it may not confirm it; null: they may. */
  readonly problem: ConfirmationProblem | null
}
