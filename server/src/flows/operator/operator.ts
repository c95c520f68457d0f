/** Guards everything that only an operator of the service may do: review applications, change the rule. */
import type { Account } from '../../store/accounts/accounts.ts'
import type { User } from '../../store/accounts/users.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'

/** Operators are the administrators of one account, which the configuration names. Without one, nobody is an operator. */
export function asOperator<T>(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  work: (tx: Transaction, operator: User, account: Account) => Promise<T>,
): Promise<T | Forbidden> {
  return asAdministrator<T | Forbidden>(context, by, async (tx, account, user) =>
    account.slug === context.config.operatorAccount ? work(tx, user, account) : { outcome: 'forbidden' },
  )
}
