/** Changes of who an account or a user is, by the management API: names, e-mail address, external id, permissions. */
import { isExternalId } from '../../core/accounts/account.ts'
import { changedMembers } from '../../core/accounts/changed-members.ts'
import { isAccountName } from '../../core/applications/name.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { saveAccountNames } from '../../store/accounts/accounts.ts'
import { type Member, recordAccessSet, saveExternalId, saveHostProfile } from '../../store/accounts/users.ts'
import { unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockByName } from '../../store/postgres/advisory-locks.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { asAdministratorOrKey, type By, type Forbidden } from './administrator.ts'
import { lockMember, type NotFound } from './give-access.ts'

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
  | NotFound
  | Forbidden

/** A new e-mail address ends the sessions of the user, and links that were mailed to the old one. */
export function updateUser(
  context: Pick<Context, 'db'>,
  by: By,
  userId: string,
  change: UserChange,
): Promise<UserChanged> {
  return asAdministratorOrKey(context, by, async (tx, account, { actor }): Promise<UserChanged> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    const next = await profileOf(tx, member, change)
    if ('outcome' in next) return next
    if (change.permissions !== undefined) await recordAccessSet(tx, userId)
    const changed = changedMembers<Profile>(member, next)
    if (Object.keys(changed).length === 0) return { outcome: 'saved' }
    if (!(await saveHostProfile(tx, userId, next))) return { outcome: 'exists' }
    if (!(await saveExternalId(tx, userId, next.externalId))) return { outcome: 'exists' }
    if ('email' in changed) {
      await spendPasswordLinks(tx, userId)
      await deleteSessions(tx, userId)
    }
    await recordEvent(tx, { kind: 'user.updated', actor, accountId: account.id, userId, detail: { changed } })
    return { outcome: 'saved' }
  })
}

type Profile = Pick<Member, 'email' | 'name' | 'permissions' | 'externalId'>

async function profileOf(tx: Transaction, member: Member, change: UserChange): Promise<Profile | UserChanged> {
  const email = change.email === undefined ? member.email : readEmail(change.email)
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
