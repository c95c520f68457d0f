/**
 * Two operators are two people: the rule for who may confirm what another operator proposed, be it a review's decision
 * or a change of the operators themselves. docs/history.md#0040
 */

export type Operator = {
  readonly id: string
  readonly email: string
  /** Ids of those who last invited, promoted, enabled or reset this one: who proposed it, and who confirmed it. */
  readonly accessFrom: readonly string[]
  /** Enabled, and an administrator of the operators' account. */
  readonly active: boolean
  /** A change of this operator is waiting for confirmation. */
  readonly changePending: boolean
}

export type Proposal = {
  readonly by: Operator
  /** Ids of the operators when it was proposed. */
  readonly operators: readonly string[]
}

/**
 * `own`: proposed by the same operator. `newer`: became an operator after the proposal. `change_pending`: a change of
 * the confirming operator is pending. `proposer_left`: the proposer is no longer an operator. `access_from_proposer`,
 * `access_to_proposer`: one of the two invited, promoted, enabled or reset the other, so both may be one person.
 */
export const confirmationProblems = [
  'own',
  'newer',
  'change_pending',
  'proposer_left',
  'access_from_proposer',
  'access_to_proposer',
] as const

export type ConfirmationProblem = (typeof confirmationProblems)[number]

/** Why this operator may not confirm the proposal; null: they may. */
export function confirmationProblem({ by, operators }: Proposal, confirmer: Operator): ConfirmationProblem | null {
  if (by.id === confirmer.id) return 'own'
  if (!operators.includes(confirmer.id)) return 'newer'
  if (confirmer.changePending) return 'change_pending'
  if (!by.active) return 'proposer_left'
  if (confirmer.accessFrom.includes(by.id)) return 'access_from_proposer'
  return by.accessFrom.includes(confirmer.id) ? 'access_to_proposer' : null
}
