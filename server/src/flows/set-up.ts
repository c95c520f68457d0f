/** The way in for somebody who has no way in yet, made by an operator: a one-time link, never a password. */
import type { Config } from '../config.ts'
import { findAccount } from '../store/accounts.ts'
import { recordEvent } from '../store/audit-events.ts'
import type { Postgres } from '../store/postgres.ts'
import { deleteSessions } from '../store/sessions.ts'
import { clearFactors, findUser } from '../store/users.ts'
import { createLink, linkAddress } from './links.ts'
import { done, type Registered, refused } from './register.ts'

/** `reset`: takes the password, the passkeys and the second factor away first, and ends every session. */
export function createSetupLink(
  db: Postgres,
  config: Pick<Config, 'keys' | 'publicUrl'>,
  given: { readonly account: string; readonly email: string; readonly reset: boolean },
): Promise<Registered<{ readonly address: string }>> {
  return db.transaction(async (tx) => {
    const account = await findAccount(tx, given.account)
    if (!account) return refused(`There is no account "${given.account}".`)
    const user = await findUser(tx, account.id, given.email)
    if (!user) return refused(`The account "${given.account}" has no user ${given.email}.`)
    if (user.disabled) return refused(`${user.email} is disabled.`)
    const about = { accountId: account.id, userId: user.id }
    if (given.reset) {
      await clearFactors(tx, user.id)
      await deleteSessions(tx, user.id)
      await recordEvent(tx, { kind: 'user.reset', ...about, detail: { by: 'operator' } })
    }
    const link = await createLink(tx, 'setup', user)
    await recordEvent(tx, { kind: 'user.link_created', ...about, detail: { by: 'operator' } })
    return done({ address: linkAddress({ config }, account.slug, link) })
  })
}
