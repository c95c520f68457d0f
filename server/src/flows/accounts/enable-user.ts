/** Enabling a disabled user on the command line. */
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { findAccount } from '../../store/accounts/accounts.ts'
import { findUser, lockUserForChange, setDisabled } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { saveAccessGivers } from '../../store/operator/operators.ts'
import { hasRetiredFactor } from '../../store/operator/signing-keys.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { announceAdministrator } from './announce-administrator.ts'
import { done, type Registered, refused } from './register.ts'

export type Enabled = {
  readonly id: string
  /** The key of their authenticator was retired meanwhile: they cannot sign in until they are reset. */
  readonly needsReset: boolean
}

export function enableByCommandLine(
  db: Postgres,
  operatorAccount: string | null,
  given: { readonly account: string; readonly email: string },
): Promise<Registered<Enabled>> {
  return db.transaction(async (tx): Promise<Registered<Enabled>> => {
    const account = await findAccount(tx, given.account)
    if (!account) return refused(`There is no account "${given.account}".`)
    const known = await findUser(tx, account.id, given.email)
    const user = known && (await lockUserForChange(tx, known.id))
    if (!user) return refused(`The account "${given.account}" has no user ${given.email}.`)
    if (!(await setDisabled(tx, user.id, false))) return refused(`${user.email} is not disabled.`)
    await saveAccessGivers(tx, user.id, 'enabled', [])
    const about = { actor: BY_COMMAND_LINE, accountId: account.id, userId: user.id }
    await recordEvent(tx, { kind: 'user.enabled', ...about })
    await noteOperatorChange(tx, { account, operatorAccount, change: 'enable', user })
    if (user.administrator && !account.hasOperators && account.slug !== operatorAccount)
      await announceAdministrator(tx, BY_COMMAND_LINE, user)
    return done({ id: user.id, needsReset: await hasRetiredFactor(tx, user.id) })
  })
}
