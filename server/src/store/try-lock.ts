/** Work that one process does at a time: whoever comes second leaves it to the first. */
import type { Transaction } from './postgres.ts'

/** False when another transaction has the lock of this name. Until the transaction ends. */
export async function tryLock(tx: Transaction, name: string): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked',
    [name],
  )
  return rows[0]?.locked ?? false
}
