/** A user is to begin anew: nothing that they, or somebody in their name, knew or held goes on working. */
import type { Actor } from '../../core/audit/actor.ts'
import { clearFactors } from '../../store/accounts/users.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'

/** Links, password, passkeys, authenticator, sessions and token sets. Access keys go on, as after a changed password. */
export async function resetUser(tx: Transaction, actor: Actor, userId: string): Promise<void> {
  await spendPasswordLinks(tx, userId)
  await clearFactors(tx, userId)
  await deleteSessions(tx, userId)
  await revokeGrants(tx, actor, { tokenSetsOf: userId }, 'user_reset')
}
