/**
 * Operators that the command line creates, enables or resets alone: while there are fewer than two, and for recovery.
 * Recorded as such, and mailed to all operators.
 */
import type { Config } from '../../config.ts'
import type { Actor } from '../../core/audit/actor.ts'
import type { OperatorChangeKind } from '../../core/operator/operator-change.ts'
import type { Account } from '../../store/accounts/accounts.ts'
import type { User } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { isCommandLine } from '../accounts/administrator.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import { hasOperators } from './operator.ts'

/** Does nothing unless the command line gave an operator access. */
export async function noteOperatorChange(
  tx: Transaction,
  config: Pick<Config, 'operatorAccount'>,
  {
    actor,
    account,
    change,
    user,
  }: {
    readonly actor: Actor
    readonly account: Account
    readonly change: OperatorChangeKind
    readonly user: Pick<User, 'id' | 'email' | 'administrator'>
  },
): Promise<void> {
  if (!isCommandLine({ actor }) || !user.administrator || !hasOperators(config, account)) return
  const about = { actor, accountId: account.id, userId: user.id }
  await recordEvent(tx, { kind: 'operator.changed_alone', ...about, detail: { change } })
  const detail = { what: 'alone', change, email: user.email, by: null, confirmedBy: null } as const
  // A new operator need not be told of themselves.
  await notifyAdministrators(tx, account.id, { kind: 'operator_change', detail }, change === 'create' ? user.id : null)
}
