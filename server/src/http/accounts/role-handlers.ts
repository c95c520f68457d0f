/** Handlers of the account's roles: named sets of scopes. For administrators. */

import { readTitles, removeRole, saveRole } from '../../flows/accounts/roles.ts'
import type { Context } from '../../flows/context.ts'
import { type RoleModel, rolePage } from '../../pages/accounts/role.tsx'
import { type RolesModel, rolesPage } from '../../pages/accounts/roles.tsx'
import { listRoles, readRole } from '../../store/accounts/roles.ts'
import { readScopeCatalogue } from '../../store/applications/scopes.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { checkedNames } from '../web/fields.ts'

const NOTICES: readonly RolesModel['notice'][] = ['saved', 'removed']

export const showRoles: PageHandler<UserRequest> = async (context, { account, fields, frame }) => {
  const titles = await readTitles(context)
  const roles = await listRoles(context.db, account.id)
  return {
    page: rolesPage(frame, {
      roles: roles.map(({ id, name, holdsEveryScope, scopes, people }) => ({
        id,
        name,
        everything: holdsEveryScope,
        titles: scopes.map((scope) => titles.get(scope) ?? scope),
        people,
      })),
      notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
    }),
  }
}

export const showRole: PageHandler<UserRequest> = async (context, { account, fields, frame }) => {
  const id = fields.get('role') ?? ''
  const role = id === '' ? null : await readRole(context.db, account.id, id)
  if (id !== '' && !role) return { refusal: 'not_found' }
  const { name = '', scopes = [], holdsEveryScope = false, people = 0 } = role ?? {}
  const model = { id: id === '' ? null : id, name, everything: holdsEveryScope, people, problem: null }
  return { page: rolePage(frame, { ...model, scopes: await scopeChoice(context, scopes) }) }
}

export const changeRole: PageHandler<UserRequest> = async (context, { account, sessionUser, fields, frame }) => {
  const id = fields.get('role') || null
  const name = fields.get('name') ?? ''
  const chosen = checkedNames(fields, 'scope')
  const { outcome } = await saveRole(context, sessionUser.id, { id, name, scopes: chosen })
  if (outcome === 'saved') return { seeOther: '/account/roles?notice=saved' }
  if (outcome === 'forbidden' || outcome === 'not_found') return { refusal: outcome }
  if (outcome === 'scope') return { refusal: 'invalid_request' }
  const role = id === null ? null : await readRole(context.db, account.id, id)
  const known = { everything: role?.holdsEveryScope ?? false, people: role?.people ?? 0 }
  const model = { id, name, ...known, scopes: await scopeChoice(context, chosen), problem: outcome }
  return { page: rolePage(frame, model), status: 400 }
}

export const discardRole: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const { outcome } = await removeRole(context, sessionUser.id, fields.get('role') ?? '')
  if (outcome === 'removed') return { seeOther: '/account/roles?notice=removed' }
  return { refusal: outcome === 'holds_every_scope' ? 'invalid_request' : outcome }
}

async function scopeChoice(context: Context, checked: readonly string[]): Promise<RoleModel['scopes']> {
  const catalogue = await readScopeCatalogue(context.db)
  return catalogue.map(({ name, title, dangerous }) => ({ name, title, dangerous, checked: checked.includes(name) }))
}
