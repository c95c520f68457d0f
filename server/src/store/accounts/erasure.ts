/** Removal of a user's rows. Only the audit log keeps what it recorded, under the user's id. docs/audit/data.md. */
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** Whether the user decided as an operator: reviews and changes of operators refer to them. */
export async function hasDecidedAsOperator(db: Queryable, userId: string): Promise<boolean> {
  const { rows } = await db.query<{ decided: boolean }>(
    `select exists (select from operator_changes where $1 in (user_id, proposed_by, decided_by))
       or exists (select from review_decisions where $1 in (decided_by, confirmed_by, withdrawn_by)) as decided`,
    [userId],
  )
  return rows[0]?.decided ?? false
}

/** Requires `lockMember`. */
export async function deleteMailsAndLinks(tx: Transaction, userId: string): Promise<void> {
  await tx.query('delete from mails where user_id = $1', [userId])
  await tx.query('delete from links where user_id = $1', [userId])
}

/**
 * Deletes the user and their grants; sessions, passkeys, decisions and the rest follow by themselves. Requires that the
 * grants were revoked, so that every process knows.
 */
export async function deleteUser(tx: Transaction, id: string): Promise<void> {
  // One statement, because the grants refer to the user.
  await tx.query('with ended as (delete from grants where user_id = $1) delete from users where id = $1', [id])
}
