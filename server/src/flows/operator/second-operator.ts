/** Applies the rule of core/operator/second-operator.ts to stored facts. */
import { type ConfirmationProblem, confirmationProblem, type Operator } from '../../core/operator/second-operator.ts'
import { readOperators } from '../../store/operator/operators.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

/** User ids: of the proposer, and of the operators when it was proposed. */
type Proposed = { readonly by: string; readonly operators: readonly string[] }

/** Why this user may not confirm; null: they may. The answer holds until the transaction ends only under `lockAccount`. */
export async function problemOfSecond(
  db: Queryable,
  proposed: Proposed,
  userId: string,
): Promise<ConfirmationProblem | null> {
  return problemAmong(await readOperators(db, [proposed.by, userId]), proposed, userId)
}

/** The same, among operators that were read before. */
export function problemAmong(
  known: ReadonlyMap<string, Operator>,
  { by, operators }: Proposed,
  userId: string,
): ConfirmationProblem | null {
  const [proposer, confirmer] = [known.get(by), known.get(userId)]
  if (!proposer || !confirmer) throw new Error('the proposer or the confirming operator does not exist')
  return confirmationProblem({ by: proposer, operators }, confirmer)
}
