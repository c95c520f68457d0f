/** Operators in the table users: who gave them access, and who they are now. */
import type { Operator } from '../../core/operator/second-operator.ts'
import { ADMINISTRATOR } from '../accounts/users.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** Ids of the operators now: an expression for an insert, with the placeholder of their account's id. */
export const operatorsOf = (account: string) =>
  `array(select u.id from users u where u.account_id = ${account} and u.disabled_at is null and ${ADMINISTRATOR} order by 1)`

/** Administrators of the operators' account by id, former ones included. */
export async function readOperators(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, Operator>> {
  const { rows } = await db.query<Operator>(
    `select u.id, u.email, u.invited_by || u.promoted_by || u.enabled_by || u.reset_by as "accessFrom",
       u.disabled_at is null and ${ADMINISTRATOR} as active,
       exists (select from operator_changes c where c.user_id = u.id and c.outcome is null and c.expires_at > now())
         as "changePending"
     from users u where u.id = any($1)`,
    [ids],
  )
  return new Map(rows.map((operator) => [operator.id, operator]))
}

/** Null: no such user. */
export async function readOperator(db: Queryable, id: string): Promise<Operator | null> {
  return (await readOperators(db, [id])).get(id) ?? null
}

const GIVER_COLUMNS = {
  invited: 'invited_by',
  promoted: 'promoted_by',
  enabled: 'enabled_by',
  reset: 'reset_by',
} as const

/** Saves who gave the user access, by id; none: the command line. */
export async function saveAccessGivers(
  tx: Transaction,
  userId: string,
  how: keyof typeof GIVER_COLUMNS,
  givers: readonly string[],
): Promise<void> {
  await tx.query(`update users set ${GIVER_COLUMNS[how]} = $2 where id = $1`, [userId, givers])
}
