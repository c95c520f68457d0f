/** Roles of an account: named sets of scopes that administrators assign to users. */

import { isName } from '../../core/applications/name.ts'
import { createId } from '../../secrets/random.ts'
import { deleteRole, insertRole, readRole, renameRole, replaceRoleScopes } from '../../store/accounts/roles.ts'
import { readScopeCatalogue, unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Context } from '../context.ts'
import { actorOf, asAdministratorOrKey, type By, type Forbidden } from './administrator.ts'

/** Titles of scopes by scope name. */
export async function readTitles(context: Pick<Context, 'db'>): Promise<ReadonlyMap<string, string>> {
  return new Map((await readScopeCatalogue(context.db)).map(({ name, title }) => [name, title]))
}

export type RoleChange = {
  /** Null creates a role. */
  readonly id: string | null
  readonly name: string
  readonly scopes: readonly string[]
}

export type SavingResult =
  | { readonly outcome: 'saved'; readonly id: string }
  /** The problem: an invalid name, a name that another role has, or a scope that is not in the catalogue. */
  | { readonly outcome: 'name' | 'exists' | 'scope' }
  | { readonly outcome: 'not_found' }
  | Forbidden

export function saveRole(context: Pick<Context, 'db'>, by: By, change: RoleChange): Promise<SavingResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<SavingResult> => {
    const known = change.id === null ? null : await readRole(tx, account.id, change.id)
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
        actor: actorOf(by),
        accountId: account.id,
        detail: { role: id, scopes },
      })
      return { outcome: 'saved', id }
    }

    if (name !== known.name && !(await renameRole(tx, account.id, known.id, name))) return { outcome: 'exists' }
    // The role with every scope includes future ones, so its list is neither changed nor emptied.
    const kept = known.holdsEveryScope ? known.scopes : scopes
    const added = kept.filter((scope) => !known.scopes.includes(scope))
    const removed = known.scopes.filter((scope) => !kept.includes(scope))
    if (added.length + removed.length > 0) await replaceRoleScopes(tx, account.id, known.id, kept)
    if (name !== known.name || added.length + removed.length > 0) {
      const detail = { role: known.id, added, removed, renamed: name !== known.name }
      await recordEvent(tx, { kind: 'role.changed', actor: actorOf(by), accountId: account.id, detail })
    }
    return { outcome: 'saved', id: known.id }
  })
}

export type RoleRemovalResult =
  | { readonly outcome: 'removed' }
  /** The role with every scope cannot be removed: the account would have no administrator. */
  | { readonly outcome: 'holds_every_scope' }
  | { readonly outcome: 'not_found' }
  | Forbidden

/** Its users lose the scopes that only this role gave them, at once and in their existing grants. */
export function removeRole(context: Pick<Context, 'db'>, by: By, roleId: string): Promise<RoleRemovalResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<RoleRemovalResult> => {
    const role = await readRole(tx, account.id, roleId)
    if (!role) return { outcome: 'not_found' }
    if (role.holdsEveryScope) return { outcome: 'holds_every_scope' }
    await deleteRole(tx, account.id, role.id)
    const detail = { role: role.id, name: role.name, people: role.people }
    await recordEvent(tx, { kind: 'role.removed', actor: actorOf(by), accountId: account.id, detail })
    return { outcome: 'removed' }
  })
}
