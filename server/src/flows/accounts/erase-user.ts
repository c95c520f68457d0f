/** Erasing a user: everything that is stored about them, except the audit log. */

import { deleteMailsAndLinks, deleteUser, hasDecidedAsOperator } from '../../store/accounts/erasure.ts'
import { hasOtherAdministrator } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { actorOf, asAdministratorOrKey, type ByCaller, type Forbidden } from './administrator.ts'
import { lockMember, type NotFound } from './give-access.ts'
import type { LastAdministrator } from './people.ts'

export type ErasureResult = { readonly outcome: 'erased' | 'was_operator' } | LastAdministrator | NotFound | Forbidden

/**
 * The audit log is append-only: its events about the user stay, with the id, which nothing refers to any more, and with
 * the networks and browsers of sign-ins until their month is archived.
 */
export function erasePerson(context: Pick<Context, 'db'>, by: ByCaller, userId: string): Promise<ErasureResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<ErasureResult> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    if (await hasDecidedAsOperator(tx, userId)) return { outcome: 'was_operator' }
    if (member.administrator && !(await hasOtherAdministrator(tx, account.id, userId)))
      return { outcome: 'last_administrator' }
    const actor = actorOf(by)
    await deleteSessions(tx, userId)
    await deleteMailsAndLinks(tx, userId)
    await endTestModesOf(tx, actor, userId)
    await revokeGrants(tx, actor, { userId }, 'user_erased')
    await deleteUser(tx, userId)
    await recordEvent(tx, { kind: 'user.erased', actor, accountId: account.id, userId })
    return { outcome: 'erased' }
  })
}
