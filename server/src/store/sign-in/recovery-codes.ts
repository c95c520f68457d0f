/** The table recovery_codes: digests of the codes that a user has not used yet. */

import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** The user's older codes no longer work. */
export async function replaceRecoveryCodes(
  tx: Transaction,
  userId: string,
  keyId: number,
  digests: readonly Buffer[],
): Promise<void> {
  await deleteRecoveryCodes(tx, userId)
  await tx.query(
    `insert into recovery_codes (user_id, digest, key_id, created_at) select $1, unnest($2::bytea[]), $3, now()`,
    [userId, digests, keyId],
  )
}

export async function deleteRecoveryCodes(tx: Transaction, userId: string): Promise<void> {
  await tx.query('delete from recovery_codes where user_id = $1', [userId])
}

/** `digests`: of one code, under each key. False when it is unknown or was used before: of two requests, one wins. */
export async function spendRecoveryCode(tx: Transaction, userId: string, digests: readonly Buffer[]): Promise<boolean> {
  const { rowCount } = await tx.query('delete from recovery_codes where user_id = $1 and digest = any($2::bytea[])', [
    userId,
    digests,
  ])
  return rowCount === 1
}

export async function countRecoveryCodes(db: Queryable, userId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from recovery_codes where user_id = $1',
    [userId],
  )
  return rows[0]?.count ?? 0
}
