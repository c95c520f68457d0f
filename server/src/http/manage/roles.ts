/** Roles of an account in the management API. */
import { removeRole, saveRole } from '../../flows/accounts/roles.ts'
import { listRoles as listStored, type Role, readRole } from '../../store/accounts/roles.ts'
import { type Body, boolean, optional, text, texts } from '../schema.ts'
import { parseBody } from './body.ts'
import { type AskedOfAccount, accountEndpoint, type Resource } from './endpoint.ts'
import { listBody, pageOf } from './paging.ts'
import { notFound, refuse } from './refused.ts'

const name = text('The name, unique in the account.', { examples: ['clerk'] })
const scopes = texts('Names of scopes that its users hold.', { examples: [['orders:read']] })

const roleBody: Body = {
  name: 'Role',
  description: 'A named set of scopes.',
  properties: {
    id: text('The id.', { examples: ['rol_k3v9m2x7q4tz'] }),
    name,
    scopes,
    holds_every_scope: boolean('Holds every scope, also those that are added later: its users are administrators.'),
  },
}

function renderRole({ id, name, scopes, holdsEveryScope }: Role): Resource {
  return { id, name, scopes, holds_every_scope: holdsEveryScope }
}

async function current({ context, account, request }: AskedOfAccount, id = request.segments.role ?? '') {
  return renderRole((await readRole(context.db, account.id, id)) ?? notFound('role'))
}

const newRole = { name, scopes }
const roleChange = { name: optional(name), scopes: optional(scopes) }

export const listRoles = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/roles',
  scope: 'roles:read',
  operation: {
    id: 'listRoles',
    tag: 'Roles',
    summary: 'List the roles of an account',
    description: 'All of them, by name.',
    answers: { 200: { description: 'The roles.', body: listBody(roleBody) } },
    refusals: ['not_found'],
  },
  handle: async ({ context, account }) => pageOf((await listStored(context.db, account.id)).map(renderRole), null),
})

export const createRole = accountEndpoint({
  method: 'POST',
  path: '/manage/1/accounts/{account}/roles',
  scope: 'roles:write',
  operation: {
    id: 'createRole',
    tag: 'Roles',
    summary: 'Create a role',
    description: 'Users get it by a change of their `roles`.',
    json: newRole,
    answers: { 201: { description: 'It is created.', body: roleBody } },
    refusals: ['not_found', 'conflict'],
  },
  handle: async (asked) => {
    const role = parseBody(newRole, asked.request.json())
    const result = await saveRole(asked.context, asked.by, { id: null, ...role })
    if (result.outcome !== 'saved') refuse(result)
    return { status: 201, resource: await current(asked, result.id) }
  },
})

export const showRole = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/roles/{role}',
  scope: 'roles:read',
  operation: {
    id: 'showRole',
    tag: 'Roles',
    summary: 'Show a role',
    description: 'By its id.',
    answers: { 200: { description: 'The role.', body: roleBody } },
    refusals: ['not_found'],
  },
  handle: async (asked) => ({ status: 200, resource: await current(asked) }),
})

export const changeRole = accountEndpoint({
  method: 'PATCH',
  path: '/manage/1/accounts/{account}/roles/{role}',
  scope: 'roles:write',
  operation: {
    id: 'changeRole',
    tag: 'Roles',
    summary: 'Change a role',
    description: 'What its users lose, their credentials lose within two seconds.',
    json: roleChange,
    answers: { 200: { description: 'The role as it is now.', body: roleBody } },
    refusals: ['not_found', 'conflict', 'precondition_failed'],
  },
  current,
  handle: async (asked) => {
    const { context, account, request, by } = asked
    const known = (await readRole(context.db, account.id, request.segments.role ?? '')) ?? notFound('role')
    const { name = known.name, scopes = known.scopes } = parseBody(roleChange, request.json())
    const result = await saveRole(context, by, { id: known.id, name, scopes })
    if (result.outcome !== 'saved') refuse(result)
    return { status: 200, resource: await current(asked) }
  },
})

export const deleteRole = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}/roles/{role}',
  scope: 'roles:write',
  operation: {
    id: 'deleteRole',
    tag: 'Roles',
    summary: 'Delete a role',
    description: 'Its users lose what they held by it only. The role that holds every scope stays.',
    answers: { 204: { description: 'It is deleted.' } },
    refusals: ['not_found', 'conflict', 'precondition_failed'],
  },
  current,
  handle: async ({ context, request, by }) => {
    const result = await removeRole(context, by, request.segments.role ?? '')
    return result.outcome === 'removed' ? { status: 204 } : refuse(result)
  },
})
