/** Operators end every grant of a user, for example of one whose devices were stolen. */
import { byOperator } from '../../core/audit/actor.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import type { NotFound } from '../accounts/give-access.ts'
import type { Context } from '../context.ts'
import { asOperator } from './operator.ts'

export type EndedGrants = { readonly outcome: 'ended'; readonly grants: number } | NotFound | Forbidden

/** Decisions of the user that are in progress come first: their grants end as well. */
export function endGrantsOf(context: Pick<Context, 'db' | 'config'>, by: string, userId: string): Promise<EndedGrants> {
  return asOperator<EndedGrants>(context, by, async (tx, operator) => {
    const user = await lockUserForChange(tx, userId)
    if (!user) return { outcome: 'not_found' }
    const grants = await revokeGrants(tx, byOperator(operator.id), { userId }, 'removed_by_operator')
    return { outcome: 'ended', grants }
  })
}
