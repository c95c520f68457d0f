/** Expiry of proposed operator changes that nobody confirmed in time. */
import { byService } from '../../core/audit/actor.ts'
import { lockAccount } from '../../store/accounts/accounts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { listAccountsWithExpired, markChangesExpired } from '../../store/operator/operator-changes.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'

export async function expireOperatorChanges(db: Postgres): Promise<void> {
  for (const accountId of await listAccountsWithExpired(db)) {
    await db.transaction(async (tx) => {
      await lockAccount(tx, accountId)
      await expireChangesOf(tx, accountId)
    })
  }
}

const EXPIRY = byService('operator-changes')

/** Requires `lockAccount`. */
export async function expireChangesOf(tx: Transaction, accountId: string): Promise<void> {
  for (const { id, change, userId } of await markChangesExpired(tx, accountId)) {
    const about = { actor: EXPIRY, accountId, ...(userId === null ? {} : { userId }) }
    await recordEvent(tx, { kind: 'operator.expired', ...about, detail: { change, operatorChange: id } })
  }
}
