/** Guards everything that only an administrator may change: people, roles, policy, branding. */
import { type Account, lockAccount } from '../../store/accounts/accounts.ts'
import { lockUser, readUser, type User } from '../../store/accounts/users.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

export type Forbidden = { readonly outcome: 'forbidden' }

/**
 * Changes of one account run one after the other, and who makes them is judged when it is their turn: of two
 * administrators who take the role from each other, the second is none any more. The account is always the
 * administrator's own, so there is no other one that could be named by mistake.
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
