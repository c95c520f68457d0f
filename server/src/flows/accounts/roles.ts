/** The roles of an account: named sets of scopes that its administrators hand to people. */

import { isName } from '../../core/applications/name.ts'
import { byUser } from '../../core/audit/actor.ts'
import { createId } from '../../secrets/random.ts'
import {
  deleteRole,
  findRole,
  findRoles,
  insertRole,
  type Role,
  renameRole,
  replaceRoleScopes,
} from '../../store/accounts/roles.ts'
import { readCatalogue, type Scope, unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Context } from '../context.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'

export function listRoles(context: Pick<Context, 'db'>, accountId: string): Promise<readonly Role[]> {
  return findRoles(context.db, accountId)
}

/** Null when the account has no such role. */
export function readRole(context: Pick<Context, 'db'>, accountId: string, roleId: string): Promise<Role | null> {
  return findRole(context.db, accountId, roleId)
}

/** Everything that a role can hold. */
export function readScopeCatalogue(context: Pick<Context, 'db'>): Promise<readonly Scope[]> {
  return readCatalogue(context.db)
}

/** What scopes allow, in words, by their names. */
export async function readTitles(context: Pick<Context, 'db'>): Promise<ReadonlyMap<string, string>> {
  return new Map((await readCatalogue(context.db)).map(({ name, title }) => [name, title]))
}

export type RoleChange = {
  /** Null: a new one. */
  readonly id: string | null
  readonly name: string
  readonly scopes: readonly string[]
}

export type SavingResult =
  | { readonly outcome: 'saved' }
  /** What is wrong: the name itself, that another role has it, or a scope that is in no catalogue. */
  | { readonly outcome: 'name' | 'exists' | 'scope' }
  | { readonly outcome: 'not_found' }
  | Forbidden

export function saveRole(context: Pick<Context, 'db'>, by: string, change: RoleChange): Promise<SavingResult> {
  return asAdministrator(context, by, async (tx, account): Promise<SavingResult> => {
    const known = change.id === null ? null : await findRole(tx, account.id, change.id)
    if (change.id !== null && !known) return { outcome: 'not_found' }
    const name = change.name.trim()
    if (!isName(name)) return { outcome: 'name' }
    const scopes = [...new Set(change.scopes)].sort()
    if ((await unknownScopes(tx, scopes)).length > 0) return { outcome: 'scope' }

    if (!known) {
      const id = createId('rol')
      const role = { id, accountId: account.id, name, holdsEveryScope: false, scopes }
      if (!(await insertRole(tx, role))) return { outcome: 'exists' }
      await recordEvent(tx, {
        kind: 'role.created',
        actor: byUser(by),
        accountId: account.id,
        detail: { role: id, scopes },
      })
      return { outcome: 'saved' }
    }

    if (name !== known.name && !(await renameRole(tx, account.id, known.id, name))) return { outcome: 'exists' }
    // Who holds every scope holds also those that come later: there is no list to be changed, nor one to be emptied.
    const kept = known.holdsEveryScope ? known.scopes : scopes
    const added = kept.filter((scope) => !known.scopes.includes(scope))
    const removed = known.scopes.filter((scope) => !kept.includes(scope))
    if (added.length + removed.length > 0) await replaceRoleScopes(tx, account.id, known.id, kept)
    if (name !== known.name || added.length + removed.length > 0) {
      const detail = { role: known.id, added, removed, renamed: name !== known.name }
      await recordEvent(tx, { kind: 'role.changed', actor: byUser(by), accountId: account.id, detail })
    }
    return { outcome: 'saved' }
  })
}

export type RoleRemovalResult =
  | { readonly outcome: 'removed' }
  /** The role that holds every scope: without it nobody could look after the account. */
  | { readonly outcome: 'holds_every_scope' }
  | { readonly outcome: 'not_found' }
  | Forbidden

/** Its people lose what only this role held, at once and in all that they connected. */
export function removeRole(context: Pick<Context, 'db'>, by: string, roleId: string): Promise<RoleRemovalResult> {
  return asAdministrator(context, by, async (tx, account): Promise<RoleRemovalResult> => {
    const role = await findRole(tx, account.id, roleId)
    if (!role) return { outcome: 'not_found' }
    if (role.holdsEveryScope) return { outcome: 'holds_every_scope' }
    await deleteRole(tx, account.id, role.id)
    const detail = { role: role.id, name: role.name, people: role.people }
    await recordEvent(tx, { kind: 'role.removed', actor: byUser(by), accountId: account.id, detail })
    return { outcome: 'removed' }
  })
}
