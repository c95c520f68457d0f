/** Changes of who an account or a user is, by the management API: names, e-mail address, external id, permissions. */
import { isExternalId } from '../../core/accounts/account.ts'
import { decideAddress } from '../../core/accounts/address-change.ts'
import { changedMembers } from '../../core/accounts/changed-members.ts'
import { isAccountName } from '../../core/applications/name.ts'
import { scopeToGive } from '../../core/manage/key.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { saveAccountNames } from '../../store/accounts/accounts.ts'
import { isAddressTaken } from '../../store/accounts/address-changes.ts'
import { type Member, recordAccessSet, saveExternalId, saveHostProfile } from '../../store/accounts/users.ts'
import { unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockByName } from '../../store/postgres/advisory-locks.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { actorOf, asAdministratorOrKey, type By, type ByCaller, checkMayGive, type Forbidden } from './administrator.ts'
import { endOldAddress, keepAddress, requestAddress } from './change-address.ts'
import { hasSignInMethod, lockMember, type NotFound, type TooMany } from './give-access.ts'

/** Absent: stays as it is. */
export type AccountChange = { readonly name?: string | undefined; readonly externalId?: string | null | undefined }

export type AccountChanged =
  | { readonly outcome: 'saved' }
  /** The invalid input, or an external id that another account has. */
  | { readonly outcome: 'name' | 'external_id' | 'exists' }
  | Forbidden

export function updateAccount(context: Pick<Context, 'db'>, by: By, change: AccountChange): Promise<AccountChanged> {
  return asAdministratorOrKey(context, by, async (tx, account, { actor }): Promise<AccountChanged> => {
    const next = { name: change.name ?? account.name, externalId: chosen(change.externalId, account.externalId) }
    if (!isAccountName(next.name)) return { outcome: 'name' }
    if (next.externalId !== null && !isExternalId(next.externalId)) return { outcome: 'external_id' }
    const changed = changedMembers(account, next)
    if (Object.keys(changed).length === 0) return { outcome: 'saved' }
    if (next.externalId !== null) await lockByName(tx, `external_id:${next.externalId}`)
    if (!(await saveAccountNames(tx, account.id, next))) return { outcome: 'exists' }
    await recordEvent(tx, { kind: 'account.changed', actor, accountId: account.id, detail: { changed } })
    return { outcome: 'saved' }
  })
}

/** Absent: stays as it is. */
export type UserChange = AccountChange & {
  readonly email?: string | undefined
  readonly permissions?: readonly string[] | undefined
}

export type UserChanged =
  | { readonly outcome: 'saved' }
  /** The invalid input; `exists`: another user of the account has the e-mail address or the external id. */
  | { readonly outcome: 'email' | 'name' | 'scope' | 'external_id' | 'exists' }
  | TooMany
  | NotFound
  | Forbidden

export function updateUser(
  context: Pick<Context, 'db' | 'config'>,
  by: ByCaller,
  userId: string,
  change: UserChange,
): Promise<UserChanged> {
  return asAdministratorOrKey(context, by, async (tx, account, { actor }): Promise<UserChanged> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    const profile = await profileOf(tx, member, change)
    if ('outcome' in profile) return profile
    const gives = profile.permissions.some((scope) => !member.permissions.includes(scope))
    checkMayGive(by, { access: gives, administrator: false })
    const email = await setAddress(tx, by, member, profile.email)
    if (typeof email !== 'string') return email
    const next = { ...profile, email }
    if (change.permissions !== undefined) await recordAccessSet(tx, userId)
    const changed = changedMembers<Profile>(member, next)
    if (Object.keys(changed).length === 0) return { outcome: 'saved' }
    if (!(await saveHostProfile(tx, userId, next))) return { outcome: 'exists' }
    if (!(await saveExternalId(tx, userId, next.externalId))) return { outcome: 'exists' }
    await recordEvent(tx, { kind: 'user.updated', actor, accountId: account.id, userId, detail: { changed } })
    if ('email' in changed) {
      await endOldAddress(tx, userId)
      await noteOperatorChange(tx, context.config, { actor, account, change: 'create', user: { ...member, email } })
    }
    return { outcome: 'saved' }
  })
}

/** The address that the user has from now on: a new one may have to be confirmed first. */
async function setAddress(
  tx: Transaction,
  by: ByCaller,
  member: Member,
  wished: string,
): Promise<string | Exclude<UserChanged, { outcome: 'saved' }>> {
  const holds = { access: member.roles.length + member.permissions.length > 0, administrator: member.administrator }
  const facts = {
    ...member,
    hasSignedIn: hasSignInMethod(member) || member.wasReset,
    couldBeMade: scopeToGive(by.scopes, holds) === null,
  }
  const decision = decideAddress(facts, wished)
  if (decision === 'cancelled') await keepAddress(tx, actorOf(by), member)
  if (decision === 'unchanged' || decision === 'cancelled') return member.email
  if (await isAddressTaken(tx, member.accountId, wished, member.id)) return { outcome: 'exists' }
  if (decision === 'at_once') return wished
  const requested = await requestAddress(tx, actorOf(by), member, wished)
  return requested.outcome === 'pending' ? member.email : requested
}

type Profile = Pick<Member, 'email' | 'name' | 'permissions' | 'externalId'>

async function profileOf(
  tx: Transaction,
  member: Member,
  change: UserChange,
): Promise<Profile | Exclude<UserChanged, { outcome: 'saved' }>> {
  // Left out, it stays what was asked for before.
  const email = change.email === undefined ? (member.pendingEmail ?? member.email) : readEmail(change.email)
  if (email === null) return { outcome: 'email' }
  const name = change.name ?? member.name
  if (name !== null && (name === '' || name.length > 200)) return { outcome: 'name' }
  const externalId = chosen(change.externalId, member.externalId)
  if (externalId === null ? member.origin === 'host' : !isExternalId(externalId)) return { outcome: 'external_id' }
  const permissions = [...new Set(change.permissions ?? member.permissions)].sort()
  if ((await unknownScopes(tx, permissions)).length > 0) return { outcome: 'scope' }
  return { email, name, permissions, externalId }
}

function chosen(wished: string | null | undefined, current: string | null): string | null {
  return wished === undefined ? current : wished
}
