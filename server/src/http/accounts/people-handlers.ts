/** Handlers for an account's users: invite, assign roles, disable, send a new sign-in link. For administrators. */

import {
  disablePerson,
  enablePerson,
  invitePerson,
  listPeople,
  readPerson,
  sendPersonLink,
  setPersonRoles,
} from '../../flows/accounts/people.ts'
import { readTitles } from '../../flows/accounts/roles.ts'
import type { Context } from '../../flows/context.ts'
import { invitePage } from '../../pages/accounts/invite.tsx'
import { type PeopleModel, peoplePage } from '../../pages/accounts/people.tsx'
import { type PersonModel, personPage } from '../../pages/accounts/person.tsx'
import type { RoleOption } from '../../pages/accounts/role-choice.tsx'
import { countAddressChanges } from '../../store/accounts/address-changes.ts'
import { listRoles } from '../../store/accounts/roles.ts'
import { memberColumns } from '../../store/accounts/users.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { checkedNames } from '../web/fields.ts'

const NOTICES: readonly PeopleModel['notice'][] = ['invited', 'saved', 'disabled', 'enabled', 'link_sent', 'proposed']

export const showPeople: PageHandler<UserRequest> = async (context, { account, sessionUser, fields, frame }) => {
  const wish = readTableWish(fields, memberColumns, { sort: 'email', descending: false })
  const { lines, after } = await listPeople(context, account.id, wish)
  const people = lines.map(({ id, email, status, roles, createdAt }) => {
    return { id, email, status, roles: roles.map(({ name }) => name), createdAt, you: id === sessionUser.id }
  })
  const notice = NOTICES.find((each) => each === fields.get('notice')) ?? null
  const who = notice && (await readPerson(context, account.id, fields.get('user') ?? ''))
  const addressChanges = await countAddressChanges(context.db, account.id)
  const model = { wish, people: { lines: people, after }, addressChanges, notice, who: who?.email ?? null }
  return { page: peoplePage(frame, model) }
}

export const showInvitation: PageHandler<UserRequest> = async (context, request) => ({
  page: invitePage(request.frame, { email: '', roles: await roleOptions(context, request, []), problem: null }),
})

export const invite: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields, frame } = request
  const email = fields.get('email') ?? ''
  const roleIds = checkedNames(fields, 'role')
  const result = await invitePerson(context, sessionUser.id, { email, roleIds, language: frame.words.language })
  if (result.outcome === 'invited') return toPeople('invited', result.userId)
  if (result.outcome === 'proposed') return PROPOSED
  if (result.outcome === 'forbidden' || result.outcome === 'not_found') return { refusal: result.outcome }
  const roles = await roleOptions(context, request, roleIds)
  return { page: invitePage(frame, { email, roles, problem: result.outcome }), status: 400 }
}

export const showPerson: PageHandler<UserRequest> = (context, request) => person(context, request, null)

export const changeRoles: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields } = request
  const userId = fields.get('user') ?? ''
  const { outcome } = await setPersonRoles(context, sessionUser.id, userId, checkedNames(fields, 'role'))
  if (outcome === 'saved') return toPeople('saved', userId)
  if (outcome === 'proposed') return PROPOSED
  if (outcome === 'forbidden' || outcome === 'not_found') return { refusal: outcome }
  return person(context, request, outcome)
}

export const disable: PageHandler<UserRequest> = async (context, request) => {
  const userId = request.fields.get('user') ?? ''
  const { outcome } = await disablePerson(context, request.sessionUser.id, userId)
  if (outcome === 'disabled') return toPeople('disabled', userId)
  return outcome === 'last_administrator' ? person(context, request, outcome) : { refusal: outcome }
}

export const enable: PageHandler<UserRequest> = async (context, request) => {
  const userId = request.fields.get('user') ?? ''
  const { outcome } = await enablePerson(context, request.sessionUser.id, userId)
  if (outcome === 'enabled') return toPeople('enabled', userId)
  if (outcome === 'sent') return toPeople('link_sent', userId)
  if (outcome === 'proposed') return PROPOSED
  if (outcome === 'forbidden' || outcome === 'not_found') return { refusal: outcome }
  return person(context, request, outcome)
}

export const sendLink: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields, frame } = request
  const userId = fields.get('user') ?? ''
  const { outcome } = await sendPersonLink(context, sessionUser.id, userId, frame.words.language)
  if (outcome === 'sent') return toPeople('link_sent', userId)
  if (outcome === 'proposed') return PROPOSED
  if (outcome === 'disabled') return { refusal: 'invalid_request' }
  if (outcome === 'forbidden' || outcome === 'not_found') return { refusal: outcome }
  return person(context, request, outcome)
}

/** Nothing has changed yet: another operator has to confirm. */
const PROPOSED: PageAnswer = { seeOther: '/account/people?notice=proposed' }

function toPeople(notice: NonNullable<PeopleModel['notice']>, userId: string): PageAnswer {
  return { seeOther: `/account/people?notice=${notice}&user=${userId}` }
}

async function person(context: Context, request: UserRequest, problem: PersonModel['problem']): Promise<PageAnswer> {
  const { account, sessionUser, fields, frame } = request
  const found = await readPerson(context, account.id, fields.get('user') ?? '')
  if (!found) return { refusal: 'not_found' }
  const { id, email, status, factors, name, permissions, issuer } = found
  const held = found.roles.map((role) => role.id)
  const roles = await roleOptions(context, request, problem === 'role' ? checkedNames(fields, 'role') : held)
  const titles = await readTitles(context)
  const host =
    frame.signInAt === null ? null : { name, permissions: permissions.map((scope) => titles.get(scope) ?? scope) }
  const provider = issuer === null ? null : new URL(issuer).host
  const model = { id, email, status, factors, provider, you: id === sessionUser.id, roles, host, problem }
  return { page: personPage(frame, model), status: problem === null ? 200 : 400 }
}

async function roleOptions(
  context: Context,
  { account }: UserRequest,
  checked: readonly string[],
): Promise<readonly RoleOption[]> {
  const titles = await readTitles(context)
  return (await listRoles(context.db, account.id)).map(({ id, name, scopes, holdsEveryScope }) => ({
    id,
    name,
    checked: checked.includes(id),
    titles: scopes.map((scope) => titles.get(scope) ?? scope),
    everything: holdsEveryScope,
  }))
}
