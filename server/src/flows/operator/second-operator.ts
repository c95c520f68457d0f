/** Applies the rule of core/operator/second-operator.ts to stored facts. */
import { type ConfirmationProblem, confirmationProblem } from '../../core/operator/second-operator.ts'
import { readOperator } from '../../store/operator/operators.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

/** User ids: of the proposer, and of the operators when it was proposed. */
type Proposed = { readonly by: string; readonly operators: readonly string[] }

/** Why this user may not confirm; null: they may. The answer holds until the transaction ends only under `lockAccount`. */
export async function problemOfSecond(
  db: Queryable,
  { by, operators }: Proposed,
  userId: string,
): Promise<ConfirmationProblem | null> {
  const proposer = await readOperator(db, by)
  const confirmer = await readOperator(db, userId)
  if (!proposer || !confirmer) throw new Error('users are never deleted')
  return confirmationProblem({ by: proposer, operators }, confirmer)
}
