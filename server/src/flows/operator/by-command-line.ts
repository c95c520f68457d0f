/**
 * Operators that the command line creates, enables or resets alone: while there are fewer than two, and for recovery.
 * Recorded as such, and mailed to all operators.
 */
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import type { OperatorChangeKind } from '../../core/operator/operator-change.ts'
import type { Account } from '../../store/accounts/accounts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'

/** The user of an account whom the command line gave access. */
export type ByCommandLine = {
  readonly account: Pick<Account, 'id' | 'slug' | 'hasOperators'>
  /** Slug of the operators' account in this environment, before the service has started with it; null: not said. */
  readonly operatorAccount: string | null
  readonly change: OperatorChangeKind
  readonly user: { readonly id: string; readonly email: string; readonly administrator: boolean }
}

/** Does nothing for users who are not operators. */
export async function noteOperatorChange(tx: Transaction, given: ByCommandLine): Promise<void> {
  const { account, operatorAccount, change, user } = given
  const isOperator = user.administrator && (account.hasOperators || account.slug === operatorAccount)
  if (!isOperator) return
  const about = { actor: BY_COMMAND_LINE, accountId: account.id, userId: user.id }
  await recordEvent(tx, { kind: 'operator.changed_alone', ...about, detail: { change } })
  const detail = { what: 'alone', change, email: user.email, by: null, confirmedBy: null } as const
  // A new operator need not be told of themselves.
  await notifyAdministrators(tx, account.id, { kind: 'operator_change', detail }, change === 'create' ? user.id : null)
}
