/** Guard for everything that only an administrator may change: people, roles, policy, branding. */
import { type Account, lockAccount } from '../../store/accounts/accounts.ts'
import { lockUser, readUser, type User } from '../../store/accounts/users.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

export type Forbidden = { readonly outcome: 'forbidden' }

/**
 * Runs `work` in a transaction that locks the account, so changes of one account are serialized. The caller's role is
 * checked after the lock: of two administrators who remove each other's role, the second is rejected. The account is
 * always the administrator's own; callers cannot name another.
 */
export function asAdministrator<T>(
  context: Pick<Context, 'db'>,
  by: string,
  work: (tx: Transaction, account: Account, administrator: User) => Promise<T>,
): Promise<T | Forbidden> {
  return context.db.transaction(async (tx) => {
    const known = await readUser(tx, by)
    const account = known && (await lockAccount(tx, known.accountId))
    const user = account && (await lockUser(tx, by))
    if (!account || !user || user.disabled || !user.administrator) return { outcome: 'forbidden' }
    return work(tx, account, user)
  })
}
