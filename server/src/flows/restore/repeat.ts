/** Ends again what was ended in the lost time. Whatever is ended already, or does not exist, is left as it is. */
import type { Actor } from '../../core/audit/actor.ts'
import { isRevocationReason } from '../../core/grants/revocation-reason.ts'
import type { Replay } from '../../core/restore/replay.ts'
import { lockAccount, readAccount } from '../../store/accounts/accounts.ts'
import { markClosed } from '../../store/accounts/closing.ts'
import { deleteMailsAndLinks, deleteUser } from '../../store/accounts/erasure.ts'
import { clearFactors, listAdministrators, lockUserForChange, setDisabled } from '../../store/accounts/users.ts'
import {
  findApplication,
  markApplicationChanged,
  setDeleted,
  setSuspended,
} from '../../store/applications/applications.ts'
import { revokeSecret } from '../../store/applications/own.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import { revokeManagementKey } from '../../store/manage/keys.ts'
import { markRetired, readRetiredKeys } from '../../store/operator/signing-keys.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { readAccountIds } from '../../store/restore/access.ts'
import type { ClosedCounts } from '../../store/restore/closing.ts'
import { advanceGenerations, countGone, markUsedAgain, revokeAgain } from '../../store/restore/repeat.ts'
import { deletePassword } from '../../store/sign-in/methods.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'
import { takeAccess } from './take-access.ts'

export type EndedCounts = {
  readonly accounts: number
  readonly users: number
  readonly passwords: number
  readonly applications: number
  readonly secrets: number
  readonly keys: number
  /** Users, roles, accounts, applications and webhooks that had more access than was left to them. */
  readonly access: number
  readonly grants: number
  readonly generations: number
  readonly lostGrants: number
}

export type RepeatedCounts = EndedCounts & ClosedCounts

export type Repeated = {
  readonly counts: EndedCounts
  /** Accounts whose last administrator was disabled or dismissed: a successor of the lost time is lost as well. */
  readonly withoutAdministrator: readonly string[]
}

/** In the lock order: accounts, users, applications, grants. */
export async function repeatEndings(tx: Transaction, actor: Actor, replay: Replay): Promise<Repeated> {
  const taken = (prefix: Parameters<typeof takeAccess>[3]) => takeAccess(tx, actor, replay.access, prefix)
  const changed = [...replay.access.map(({ subject }) => subject), ...replay.disabledUsers, ...replay.accounts]
  const accountIds = await readAccountIds(tx, changed)
  const administered: string[] = []
  for (const id of accountIds) {
    await lockAccount(tx, id)
    if (await hasAdministrator(tx, id)) administered.push(id)
  }
  const accounts = await count(replay.accounts, (id) => closeAgain(tx, actor, id))
  const users = await count(replay.disabledUsers, (id) => disableAgain(tx, actor, id))
  const passwords =
    (await count(replay.passwords, (id) => forgetPassword(tx, id))) +
    (await count(replay.resetUsers, (id) => resetAgain(tx, actor, id)))
  const ofPeople = (await taken('acc')) + (await taken('rol')) + (await taken('usr'))
  const applications =
    (await count(replay.suspended, (id) => suspendAgain(tx, actor, id))) +
    (await count(replay.deletedApplications, (id) => deleteAgain(tx, actor, id)))
  const secrets = await count(replay.secrets, (each) => revokeSecretAgain(tx, actor, each))
  const ofApplications = await taken('app')
  const generations = await advanceGenerations(tx, replay.generations)
  await markUsedAgain(tx, replay.uses)
  const ended = replay.grants.map(({ id, reason }) => ({
    id,
    // A newer version may have written a reason that this one does not know.
    reason: isRevocationReason(reason) ? reason : ('removed_by_operator' as const),
  }))
  const grants = await revokeAgain(tx, actor, ended)
  const lostGrants = await countGone(tx, replay.lostGrants)
  const keys =
    (await count(replay.managementKeys, (id) => revokeKeyAgain(tx, actor, id))) +
    (await count(replay.signingKeys, (key) => retireAgain(tx, actor, key))) +
    (await taken('mgk'))
  const access = ofPeople + ofApplications + (await taken('whk'))
  const withoutAdministrator: string[] = []
  for (const id of administered) if (!(await hasAdministrator(tx, id))) withoutAdministrator.push(id)
  const counts = { accounts, users, passwords, applications, secrets, keys, access, grants, generations, lostGrants }
  return { counts, withoutAdministrator }
}

async function hasAdministrator(tx: Transaction, accountId: string): Promise<boolean> {
  return (await listAdministrators(tx, accountId)).length > 0
}

async function count<T>(subjects: readonly T[], end: (subject: T) => Promise<boolean>): Promise<number> {
  let ended = 0
  for (const subject of subjects) if (await end(subject)) ended += 1
  return ended
}

async function closeAgain(tx: Transaction, actor: Actor, id: string): Promise<boolean> {
  if (!(await readAccount(tx, id))) return false
  await markClosed(tx, id)
  await recordEvent(tx, { kind: 'account.closed', actor, accountId: id })
  return true
}

async function disableAgain(tx: Transaction, actor: Actor, id: string): Promise<boolean> {
  const user = await lockUserForChange(tx, id)
  if (!user || !(await setDisabled(tx, id, true))) return false
  await recordEvent(tx, { kind: 'user.disabled', actor, accountId: user.accountId, userId: id })
  return true
}

/** Deletes the old password that the restore brought back. The user sets a new one by a recovery link. */
async function forgetPassword(tx: Transaction, id: string): Promise<boolean> {
  return (await lockUserForChange(tx, id)) !== null && (await deletePassword(tx, id))
}

async function resetAgain(tx: Transaction, actor: Actor, id: string): Promise<boolean> {
  const user = await lockUserForChange(tx, id)
  if (!user) return false
  await clearFactors(tx, id)
  await recordEvent(tx, { kind: 'user.reset', actor, accountId: user.accountId, userId: id })
  return true
}

async function suspendAgain(tx: Transaction, actor: Actor, id: string): Promise<boolean> {
  const application = await findApplication(tx, id)
  if (!application || !(await markApplicationChanged(tx, id)) || !(await setSuspended(tx, id, true))) return false
  await recordEvent(tx, { kind: 'application.suspended', actor, accountId: application.accountId, applicationId: id })
  return true
}

async function deleteAgain(tx: Transaction, actor: Actor, id: string): Promise<boolean> {
  const application = await findApplication(tx, id)
  if (!application || !(await markApplicationChanged(tx, id))) return false
  await setDeleted(tx, id)
  await recordEvent(tx, { kind: 'application.deleted', actor, accountId: application.accountId, applicationId: id })
  return true
}

type RevokedSecret = Replay['secrets'][number]

async function revokeSecretAgain(tx: Transaction, actor: Actor, revoked: RevokedSecret): Promise<boolean> {
  const { application: id, secret } = revoked
  const application = await findApplication(tx, id)
  if (!application || !(await markApplicationChanged(tx, id)) || !(await revokeSecret(tx, id, secret))) return false
  const about = { accountId: application.accountId, applicationId: id, detail: { secret } }
  await recordEvent(tx, { kind: 'application.secret_revoked', actor, ...about })
  return true
}

async function revokeKeyAgain(tx: Transaction, actor: Actor, managementKey: string): Promise<boolean> {
  if (!(await revokeManagementKey(tx, managementKey))) return false
  await recordEvent(tx, { kind: 'management_key.revoked', actor, detail: { managementKey } })
  return true
}

async function retireAgain(tx: Transaction, actor: Actor, key: number): Promise<boolean> {
  if ((await readRetiredKeys(tx)).includes(key)) return false
  await markRetired(tx, key)
  await recordEvent(tx, { kind: 'key.retired', actor, detail: { key } })
  return true
}

/** Each in a transaction of its own, because it locks from the user down to the grants. */
export async function eraseAgain(db: Postgres, actor: Actor, userIds: readonly string[]): Promise<void> {
  for (const id of userIds) {
    await db.transaction(async (tx) => {
      const user = await lockUserForChange(tx, id)
      if (!user) return
      await deleteSessions(tx, id)
      await deleteMailsAndLinks(tx, id)
      await revokeGrants(tx, actor, { userId: id }, 'user_erased')
      await deleteUser(tx, id)
      await recordEvent(tx, { kind: 'user.erased', actor, accountId: user.accountId, userId: id })
    })
  }
}
