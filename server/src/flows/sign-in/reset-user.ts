/** Reset of a user, whose credentials an attacker may know or hold. */
import type { Actor } from '../../core/audit/actor.ts'
import { clearFactors } from '../../store/accounts/users.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'
import { endTestModesOf } from '../applications/test-mode.ts'

/**
 * Removes links, password, passkeys, authenticator, sessions and token sets, and ends test modes that the user switched
 * on. Access keys that people granted stay valid, as after a password change.
 */
export async function resetUser(tx: Transaction, actor: Actor, userId: string): Promise<void> {
  await spendPasswordLinks(tx, userId)
  await clearFactors(tx, userId)
  await deleteSessions(tx, userId)
  await endTestModesOf(tx, actor, userId)
  await revokeGrants(tx, actor, { tokenSetsOf: userId }, 'user_reset')
}
