/** Enabling a disabled user on the command line. */
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { findAccount } from '../../store/accounts/accounts.ts'
import { findUser, lockUserForChange, setDisabled } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { saveAccessGiver } from '../../store/operator/operators.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { done, type Registered, refused } from './register.ts'

export function enableByCommandLine(
  db: Postgres,
  operatorAccount: string | null,
  given: { readonly account: string; readonly email: string },
): Promise<Registered<{ readonly id: string }>> {
  return db.transaction(async (tx): Promise<Registered<{ readonly id: string }>> => {
    const account = await findAccount(tx, given.account)
    if (!account) return refused(`There is no account "${given.account}".`)
    const known = await findUser(tx, account.id, given.email)
    const user = known && (await lockUserForChange(tx, known.id))
    if (!user) return refused(`The account "${given.account}" has no user ${given.email}.`)
    if (!(await setDisabled(tx, user.id, false))) return refused(`${user.email} is not disabled.`)
    await saveAccessGiver(tx, user.id, 'enabled', null)
    await recordEvent(tx, { kind: 'user.enabled', actor: BY_COMMAND_LINE, accountId: account.id, userId: user.id })
    await noteOperatorChange(tx, { account, operatorAccount, change: 'enable', user })
    return done({ id: user.id })
  })
}
