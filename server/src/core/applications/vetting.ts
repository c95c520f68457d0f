/**
 * Vetting: an application that somebody registered in the developer console is limited outside its own account until
 * an operator has looked at it. Applications of verified publishers and those that an operator registered are not.
 */

/** As many users as a test needs, and too few for a phishing campaign. Only the first grant of a user counts. */
export const MAX_OUTSIDE_GRANTS = 100

/**
 * Of one account, those deleted in the last 30 days included. Registering is free, so without this limit another
 * application would have another hundred users.
 */
export const MAX_UNVETTED_APPLICATIONS = 10

/** An application that no operator has looked at, asked for access to an account that is not its own. */
export type Unvetted = {
  readonly outsideGrants: number
  /** This user granted it before, so is one of those who count. */
  readonly counted: boolean
}

/** Why it cannot be granted: too many users outside its own account granted it, or a scope is dangerous. */
export type VettingProblem = 'too_many_grants' | 'dangerous_scope'

export function vettingProblem(unvetted: Unvetted | null, dangerous: boolean): VettingProblem | null {
  if (!unvetted) return null
  if (dangerous) return 'dangerous_scope'
  return !unvetted.counted && unvetted.outsideGrants >= MAX_OUTSIDE_GRANTS ? 'too_many_grants' : null
}
