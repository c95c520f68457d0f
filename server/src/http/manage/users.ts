/** Users of an account in the management API. */
import { Refusal } from '../../core/refusal.ts'
import { erasePerson } from '../../flows/accounts/erase-user.ts'
import {
  disablePerson,
  enablePerson,
  listPeople,
  type Person,
  readPerson,
  setPersonRoles,
} from '../../flows/accounts/people.ts'
import { updateUser } from '../../flows/accounts/update.ts'
import { createManagedUser } from '../../flows/manage/users.ts'
import { findMemberBy } from '../../store/accounts/users.ts'
import { type Body, boolean, nullable, oneOf, optional, text, texts } from '../schema.ts'
import { parseBody } from './body.ts'
import { type AskedOfAccount, accountEndpoint, type Outcome, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf, pageQuery, readFilter, readPage } from './paging.ts'
import { notFound, refuse } from './refused.ts'

const email = text('The e-mail address, unique in the account.', { examples: ['ann@acme.example'] })
const pendingEmail = nullable(
  text('Asked for by a management key, and not confirmed yet by the present mailbox or an administrator.', {
    examples: ['ann@acme-group.example'],
  }),
)
const name = nullable(text('The name.', { examples: ['Ann Lee'] }))
const externalId = nullable(text('The id at your own service, unique in the account.', { examples: ['user-17'] }))
const roles = texts('Ids of roles of the account.', { examples: [['rol_k3v9m2x7q4tz']] })
const permissions = texts('Names of scopes that the user holds besides those of the roles.', {
  examples: [['orders:read']],
})
const disabled = boolean('A disabled user cannot sign in, and no credential of theirs works.')

const userBody: Body = {
  name: 'User',
  description: 'A user of an account.',
  properties: {
    id: text('The id.', { examples: ['usr_k3v9m2x7q4tz'] }),
    account_id: text('The account.', { examples: ['acc_k3v9m2x7q4tz'] }),
    external_id: externalId,
    email,
    pending_email: pendingEmail,
    name,
    origin: oneOf(['own', 'host'], 'Signs in at Latchkey, or at the host service.'),
    status: oneOf(['active', 'invited', 'disabled'], '`invited`: has not signed in yet.'),
    administrator: boolean('Has a role with every scope.'),
    roles,
    permissions,
    created_at: momentField('When the user was created.'),
  },
}

const USER_ID = /^usr_[0-9a-z]{12}$/

function renderUser(person: Person): Resource {
  const { id, accountId, externalId, email, pendingEmail, name, origin, status, administrator, permissions } = person
  return {
    ...{ id, account_id: accountId, external_id: externalId, email, pending_email: pendingEmail, name, origin },
    ...{ status, administrator },
    roles: person.roles.map((role) => role.id),
    permissions,
    created_at: moment(person.createdAt),
  }
}

export async function readManagedUser({ context, account, request }: AskedOfAccount, id = request.segments.user ?? '') {
  return (await readPerson(context, account.id, id)) ?? notFound('user')
}

const current = async (asked: AskedOfAccount) => renderUser(await readManagedUser(asked))

const newUser = {
  email,
  name: optional(name),
  external_id: optional(externalId),
  roles: optional(roles),
  permissions: optional(permissions),
  invite: optional(boolean('Mail an invitation, in English unless the user has chosen a language.')),
}

const userChange = {
  email: optional(email),
  name: optional(name),
  external_id: optional(externalId),
  roles: optional(roles),
  permissions: optional(permissions),
  disabled: optional(disabled),
}

export const listUsers = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/users',
  scope: 'users:read',
  operation: {
    id: 'listUsers',
    tag: 'Users',
    summary: 'List the users of an account',
    description: 'Oldest first.',
    query: {
      ...pageQuery,
      email: optional(text('Only the user with this e-mail address.')),
      external_id: optional(text('Only the user with this external id.')),
    },
    answers: { 200: { description: 'A page of users.', body: listBody(userBody) } },
    refusals: ['not_found'],
  },
  handle: async (asked) => {
    const { context, request, account } = asked
    const [email, externalId] = [readFilter(request, 'email'), readFilter(request, 'external_id')]
    if (email !== null || externalId !== null) {
      const by = email === null ? { externalId: externalId ?? '' } : { email }
      const found = await findMemberBy(context.db, account.id, by)
      if (!found || (externalId !== null && found.externalId !== externalId)) return pageOf([], null)
      return pageOf([renderUser(await readManagedUser(asked, found.id))], null)
    }
    const wish = { ...readPage(request, USER_ID), search: '', sort: 'created', descending: false } as const
    const { lines, after } = await listPeople(context, account.id, wish)
    return pageOf(lines.map(renderUser), after)
  },
})

export const createUser = accountEndpoint({
  method: 'POST',
  path: '/manage/1/accounts/{account}/users',
  scope: 'users:write',
  operation: {
    id: 'createUser',
    tag: 'Users',
    summary: 'Create a user',
    description:
      'A user who signs in at Latchkey gets a password or passkey by an invitation: now with `invite`, or later from an administrator. A user who signs in at the host service needs an `external_id`. Roles and permissions need the scope `roles:write` as well, the role with every scope also `administrators:write`.',
    json: newUser,
    answers: { 201: { description: 'The user is created.', body: userBody } },
    refusals: ['not_found', 'conflict', 'too_many_requests'],
  },
  handle: async (asked) => {
    const given = parseBody(newUser, asked.request.json())
    const result = await createManagedUser(asked.context, asked.by, {
      email: given.email,
      name: given.name ?? null,
      externalId: given.external_id ?? null,
      roleIds: given.roles ?? [],
      permissions: given.permissions ?? [],
      invite: given.invite ?? false,
    })
    if (result.outcome !== 'created') refuse(result)
    return { status: 201, resource: renderUser(await readManagedUser(asked, result.userId)) }
  },
})

export const showUser = accountEndpoint({
  method: 'GET',
  path: '/manage/1/accounts/{account}/users/{user}',
  scope: 'users:read',
  operation: {
    id: 'showUser',
    tag: 'Users',
    summary: 'Show a user',
    description: 'By their id.',
    answers: { 200: { description: 'The user.', body: userBody } },
    refusals: ['not_found'],
  },
  handle: async (asked) => ({ status: 200, resource: await current(asked) }),
})

export const changeUser = accountEndpoint({
  method: 'PATCH',
  path: '/manage/1/accounts/{account}/users/{user}',
  scope: 'users:write',
  operation: {
    id: 'changeUser',
    tag: 'Users',
    summary: 'Change, disable or enable a user',
    description:
      'Members that are left out stay as they are; all others are changed together or not at all. A disabled user loses all sessions, and their credentials stop working within two seconds; so does a credential that loses a scope. New roles and permissions need the scope `roles:write` as well; making or enabling an administrator, `administrators:write`. A new `email` of a user who has signed in at Latchkey is pending, for seven days, until the present mailbox or an administrator confirms it; the present address cancels it.',
    json: userChange,
    answers: { 200: { description: 'The user as they are now.', body: userBody } },
    refusals: ['not_found', 'conflict', 'precondition_failed', 'too_many_requests'],
  },
  current,
  handle: async (asked) => {
    const {
      email,
      name,
      external_id: externalId,
      roles,
      permissions,
      disabled,
    } = parseBody(userChange, asked.request.json())
    if (name === null) throw new Refusal('invalid_request', 'A name can be changed, not removed.')
    await applyUserChange(asked, { email, name, externalId, permissions }, roles, disabled)
    return { status: 200, resource: await current(asked) }
  },
})

export const deleteUser = accountEndpoint({
  method: 'DELETE',
  path: '/manage/1/accounts/{account}/users/{user}',
  scope: 'users:write',
  operation: {
    id: 'deleteUser',
    tag: 'Users',
    summary: 'Erase a user',
    description:
      'Deletes the user and everything that is stored about them; sessions end at once, credentials stop working within two seconds. The audit log keeps its events, with the id of the user and the networks and browsers of their sign-ins, but no name and no address. This cannot be undone.',
    answers: { 204: { description: 'The user is erased.' } },
    refusals: ['not_found', 'conflict', 'precondition_failed'],
  },
  current,
  handle: erase,
})

/** Shared with SCIM. */
export async function erase({ context, by, request }: AskedOfAccount): Promise<Outcome> {
  const result = await erasePerson(context, by, request.segments.user ?? '')
  return result.outcome === 'erased' ? { status: 204 } : refuse(result)
}

/** Shared with SCIM. In one transaction: a Refusal undoes all of it. */
export async function applyUserChange(
  { context, by, request }: AskedOfAccount,
  profile: Parameters<typeof updateUser>[3],
  roleIds: readonly string[] | undefined,
  disabled: boolean | undefined,
): Promise<void> {
  const userId = request.segments.user ?? ''
  const results = [await updateUser(context, by, userId, profile)]
  const outcomes: { readonly outcome: string }[] = [...results]
  if (roleIds !== undefined) outcomes.push(await setPersonRoles(context, by, userId, roleIds))
  if (disabled === true) outcomes.push(await disablePerson(context, by, userId))
  if (disabled === false) outcomes.push(await enablePerson(context, by, userId))
  const failed = outcomes.find(({ outcome }) => !['saved', 'disabled', 'enabled', 'sent'].includes(outcome))
  if (failed) refuse(failed)
}
