/** SCIM 2.0 `/Users` of one account, on the flows of the management API. docs/management.md, "SCIM". */
import { readScimFilter, readScimPatch, readScimUser, type ScimProfile } from '../../core/manage/scim.ts'
import { Refusal } from '../../core/refusal.ts'
import { disablePerson } from '../../flows/accounts/people.ts'
import { createManagedUser } from '../../flows/manage/users.ts'
import { findMemberBy, listMembersFrom, type Member } from '../../store/accounts/users.ts'
import { type Body, boolean, integer, optional, text, texts } from '../schema.ts'
import { type AskedOfAccount, accountEndpoint, type Outcome, type Resource } from './endpoint.ts'
import { moment, readFilter } from './paging.ts'
import { refuse } from './refused.ts'
import { SCIM, SCIM_LIST, SCIM_USER, SCIM_USERS_OF_A_PAGE } from './scim-style.ts'
import { applyUserChange, erase, readManagedUser } from './users.ts'

function renderUser({ context }: Pick<AskedOfAccount, 'context'>, member: Member): Resource {
  const { id, externalId, name } = member
  // What the identity provider sent: it would send the address again and again otherwise.
  const email = member.pendingEmail ?? member.email
  const location = `${context.config.publicUrl}/scim/2/Users/${id}`
  return {
    schemas: [SCIM_USER],
    id,
    ...(externalId === null ? {} : { externalId }),
    userName: email,
    ...(name === null ? {} : { displayName: name, name: { formatted: name } }),
    emails: [{ value: email, type: 'work', primary: true }],
    active: !member.disabled,
    meta: { resourceType: 'User', created: moment(member.createdAt), location },
  }
}

const current = async (asked: AskedOfAccount) => renderUser(asked, await readManagedUser(asked))

const schemas = texts('What this message is.', { examples: [[SCIM_USER]] })
const attributes = {
  schemas: optional(schemas),
  userName: text('The e-mail address, unique in the account.', { examples: ['ann@acme.example'] }),
  externalId: optional(text('The id at the identity provider.', { examples: ['00u1a2b3c4'] })),
  displayName: optional(
    text('The name; otherwise `name.formatted`, or given and family name.', { examples: ['Ann Lee'] }),
  ),
  name: optional({ type: 'object', description: 'The name, in parts; only their whole is kept.' }),
  emails: optional({ type: 'array', items: { type: 'object' }, description: 'Not kept: the address is `userName`.' }),
  active: optional(
    boolean('False: the user is disabled. Sessions end, and credentials stop working within two seconds.'),
  ),
} as const

const userBody: Body = {
  name: 'ScimUser',
  description: 'A user (RFC 7643, section 4.1).',
  properties: {
    id: text('The id.', { examples: ['usr_k3v9m2x7q4tz'] }),
    ...attributes,
    meta: { type: 'object', description: 'When it was created, and its address.' },
  },
}

const listBody: Body = {
  name: 'ScimUserList',
  description: 'A page of users (RFC 7644, section 3.4.2).',
  properties: {
    schemas,
    totalResults: integer('How many there are.'),
    startIndex: integer('Number of the first one.'),
    itemsPerPage: integer('How many are on this page.'),
    Resources: { type: 'array', items: { type: 'object', properties: userBody.properties }, description: 'The users.' },
  },
}

export const listScimUsers = accountEndpoint(
  {
    method: 'GET',
    path: '/scim/2/Users',
    scope: 'scim',
    operation: {
      id: 'listScimUsers',
      tag: 'SCIM',
      summary: 'Find users',
      description: 'All, oldest first, or the one with a `userName` or `externalId`.',
      query: {
        filter: optional(
          text('`userName eq "…"` or `externalId eq "…"`.', { examples: ['userName eq "ann@acme.example"'] }),
        ),
        startIndex: optional(integer('Number of the first user, from 1.')),
        count: optional(integer(`Most users of a page, at most ${SCIM_USERS_OF_A_PAGE}.`)),
      },
      answers: { 200: { description: 'The users.', body: listBody } },
      refusals: ['not_found'],
    },
    handle: async (asked) => {
      const { context, request, account } = asked
      const filter = readFilter(request, 'filter')
      if (filter === null) {
        const [start, count] = [readNumber(asked, 'startIndex', 1), readNumber(asked, 'count', 100)]
        const lines = Math.min(count, SCIM_USERS_OF_A_PAGE)
        const { members, total } = await listMembersFrom(context.db, account.id, Math.max(start, 1) - 1, lines)
        return pageOf(asked, members, total, Math.max(start, 1))
      }
      const by = readScimFilter(filter)
      if (!by) {
        throw new Refusal('invalid_request', 'Filters are userName eq "…" and externalId eq "…".', 'invalidFilter')
      }
      const member = await findMemberBy(context.db, account.id, by)
      return pageOf(asked, member ? [member] : [], member ? 1 : 0, 1)
    },
  },
  SCIM,
)

function readNumber({ request }: AskedOfAccount, name: string, fallback: number): number {
  const given = readFilter(request, name)
  if (given === null) return fallback
  if (!/^-?\d{1,9}$/.test(given)) throw new Refusal('invalid_request', `${name} is a whole number.`)
  // RFC 7644, section 3.4.2.4: a negative number counts as zero.
  return Math.max(Number(given), 0)
}

function pageOf(asked: AskedOfAccount, members: readonly Member[], totalResults: number, startIndex: number): Outcome {
  const Resources = members.map((member) => renderUser(asked, member))
  return {
    status: 200,
    list: { schemas: [SCIM_LIST], totalResults, startIndex, itemsPerPage: Resources.length, Resources },
  }
}

export const createScimUser = accountEndpoint(
  {
    method: 'POST',
    path: '/scim/2/Users',
    scope: 'scim',
    operation: {
      id: 'createScimUser',
      tag: 'SCIM',
      summary: 'Create a user',
      description: 'Without a role and without an invitation; administrators and the management API give roles.',
      json: attributes,
      answers: { 201: { description: 'The user is created.', body: userBody } },
      refusals: ['not_found', 'conflict'],
    },
    handle: async (asked) => {
      const profile = readWhole(asked)
      const result = await createManagedUser(asked.context, asked.by, {
        email: profile.userName,
        name: profile.name ?? null,
        externalId: profile.externalId ?? null,
        roleIds: [],
        permissions: [],
        invite: false,
      })
      if (result.outcome !== 'created') refuse(result)
      if (profile.active === false) await disablePerson(asked.context, asked.by, result.userId)
      return { status: 201, resource: renderUser(asked, await readManagedUser(asked, result.userId)) }
    },
  },
  SCIM,
)

export const showScimUser = accountEndpoint(
  {
    method: 'GET',
    path: '/scim/2/Users/{user}',
    scope: 'scim',
    operation: {
      id: 'showScimUser',
      tag: 'SCIM',
      summary: 'Show a user',
      description: 'By their id.',
      answers: { 200: { description: 'The user.', body: userBody } },
      refusals: ['not_found'],
    },
    handle: async (asked) => ({ status: 200, resource: await current(asked) }),
  },
  SCIM,
)

export const replaceScimUser = accountEndpoint(
  {
    method: 'PUT',
    path: '/scim/2/Users/{user}',
    scope: 'scim',
    operation: {
      id: 'replaceScimUser',
      tag: 'SCIM',
      summary: 'Replace a user',
      description:
        'Roles and permissions stay: they are no attributes of SCIM. So do an external id and a name that are left out. A new `userName` of a user who has signed in at Latchkey is pending until the present mailbox or an administrator confirms it.',
      json: attributes,
      answers: { 200: { description: 'The user as they are now.', body: userBody } },
      refusals: ['not_found', 'conflict', 'precondition_failed', 'too_many_requests'],
    },
    current,
    handle: (asked) => change(asked, readWhole(asked)),
  },
  SCIM,
)

export const patchScimUser = accountEndpoint(
  {
    method: 'PATCH',
    path: '/scim/2/Users/{user}',
    scope: 'scim',
    operation: {
      id: 'patchScimUser',
      tag: 'SCIM',
      summary: 'Change, deactivate or activate a user',
      description:
        'RFC 7644, section 3.5.2. Attributes that are not kept are ignored. A new `userName` may be pending, as after a replacement. Activating an administrator needs the scope `administrators:write` as well.',
      json: {
        schemas: optional(schemas),
        Operations: { type: 'array', items: { type: 'object' }, description: 'The changes, in order.' },
      },
      answers: { 200: { description: 'The user as they are now.', body: userBody } },
      refusals: ['not_found', 'conflict', 'precondition_failed', 'too_many_requests'],
    },
    current,
    handle: (asked) => {
      const set = readScimPatch(asked.request.json())
      if (!set) throw new Refusal('invalid_request', 'The operations cannot be read.', 'invalidSyntax')
      const profile = readScimUser(set)
      if (!profile) throw new Refusal('invalid_request', 'A value is not of the type of its attribute.')
      return change(asked, profile)
    },
  },
  SCIM,
)

export const deleteScimUser = accountEndpoint(
  {
    method: 'DELETE',
    path: '/scim/2/Users/{user}',
    scope: 'scim',
    operation: {
      id: 'deleteScimUser',
      tag: 'SCIM',
      summary: 'Erase a user',
      description: 'As by the management API. Identity providers deactivate users first.',
      answers: { 204: { description: 'The user is erased.' } },
      refusals: ['not_found', 'conflict', 'precondition_failed'],
    },
    current,
    handle: erase,
  },
  SCIM,
)

function readWhole({ request }: AskedOfAccount): ScimProfile & { readonly userName: string } {
  const profile = readScimUser(request.json())
  if (profile?.userName === undefined) throw new Refusal('invalid_request', 'A user needs a userName.')
  return { ...profile, userName: profile.userName }
}

async function change(asked: AskedOfAccount, { userName, name, externalId, active }: ScimProfile): Promise<Outcome> {
  const disabled = active === undefined ? undefined : !active
  await applyUserChange(asked, { email: userName, name, externalId }, undefined, disabled)
  return { status: 200, resource: await current(asked) }
}
