/** Closing an account, for good. */
import { byService } from '../../core/audit/actor.ts'
import {
  deleteProvider,
  deleteRest,
  deleteSessionsAndMails,
  deleteSomeGrants,
  deleteTestModes,
  deleteUsers,
  hasDecided,
  listAccountsToErase,
  listOwnApplicationIds,
  lockAccountToErase,
  lockSomeUsers,
  markClosed,
  markErased,
  revokeKeysOf,
  revokeSomeOfApplications,
  revokeSomeOfUsers,
} from '../../store/accounts/closing.ts'
import { markApplicationChanged, setDeleted } from '../../store/applications/applications.ts'
import { deleteProposal } from '../../store/applications/proposals.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { hasOperators } from '../operator/operator.ts'
import { actorOf, asAdministratorOrKey, type ByCaller, type Forbidden } from './administrator.ts'

export type ClosingResult = { readonly outcome: 'closed' | 'has_operators' | 'had_operators' } | Forbidden

/**
 * Ends everything at once in one short transaction: the account is unknown, its keys are revoked, its applications
 * deleted and all its credentials refused. `eraseClosedAccounts` deletes the rows afterwards.
 */
export function closeAccount(context: Pick<Context, 'db' | 'config'>, by: ByCaller): Promise<ClosingResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<ClosingResult> => {
    const { id: accountId } = account
    if (hasOperators(context.config, account)) return { outcome: 'has_operators' }
    if (await hasDecided(tx, accountId)) return { outcome: 'had_operators' }
    const about = { actor: actorOf(by), accountId }
    await markClosed(tx, accountId)
    await deleteProvider(tx, accountId)
    await deleteTestModes(tx, accountId)
    for (const applicationId of await listOwnApplicationIds(tx, accountId)) {
      await markApplicationChanged(tx, applicationId)
      await deleteProposal(tx, applicationId)
      await setDeleted(tx, applicationId)
      await recordEvent(tx, { kind: 'application.deleted', ...about, applicationId })
    }
    for (const managementKey of await revokeKeysOf(tx, accountId))
      await recordEvent(tx, { kind: 'management_key.revoked', ...about, detail: { managementKey } })
    await recordEvent(tx, { kind: 'account.closed', ...about })
    return { outcome: 'closed' }
  })
}

export type BatchSize = { readonly users: number; readonly grants: number }

/** A transaction of this size takes well under a second, and holds no row for longer. */
const BATCH: BatchSize = { users: 100, grants: 1_000 }

/**
 * Deletes the rows of closed accounts in batches, each a transaction of its own that starts from what is left. So an
 * interrupted one is continued by the next run, in any process.
 */
export async function eraseClosedAccounts(db: Postgres, size = BATCH): Promise<void> {
  for (const id of await listAccountsToErase(db)) {
    while ((await db.transaction((tx) => eraseSome(tx, id, size))) === 'more') {}
  }
}

const CLOSING = byService('closing an account')

/** One batch. `waiting`: nothing is left to do now. */
export async function eraseSome(tx: Transaction, id: string, size: BatchSize): Promise<'more' | 'waiting'> {
  if (!(await lockAccountToErase(tx, id))) return 'waiting'
  const userIds = await lockSomeUsers(tx, id, size.users)
  if (userIds.length > 0) {
    await deleteSessionsAndMails(tx, userIds)
    await revokeSomeOfUsers(tx, CLOSING, userIds, size.grants)
    await deleteSomeGrants(tx, userIds, size.grants)
    await deleteUsers(tx, CLOSING, userIds)
    return 'more'
  }
  if ((await revokeSomeOfApplications(tx, CLOSING, id, size.grants)) > 0) return 'more'
  if (await markErased(tx, id)) await deleteRest(tx, id)
  return 'waiting'
}
