/** Guard for everything that only an operator may do: such as reviewing applications. */
import type { Config } from '../../config.ts'
import type { Account } from '../../store/accounts/accounts.ts'
import type { User } from '../../store/accounts/users.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'

/**
 * Operators are the administrators of the account that the configuration names. If it names none, there are no
 * operators.
 */
export function asOperator<T>(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  work: (tx: Transaction, operator: User, account: Account) => Promise<T>,
): Promise<T | Forbidden> {
  return asAdministrator<T | Forbidden>(context, by, async (tx, account, user) =>
    isOperatorsAccount(context, account) ? work(tx, user, account) : { outcome: 'forbidden' },
  )
}

export function isOperatorsAccount({ config }: Pick<Context, 'config'>, { slug }: Pick<Account, 'slug'>): boolean {
  return slug === config.operatorAccount
}

/** Also an account that was the operators' when the service last started, and is not in this environment. */
export function hasOperators(
  { operatorAccount }: Pick<Config, 'operatorAccount'>,
  { slug, hasOperators }: Pick<Account, 'slug' | 'hasOperators'>,
): boolean {
  return hasOperators || slug === operatorAccount
}
