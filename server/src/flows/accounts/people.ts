/**
 * Users of an account, managed by its administrators: invite, change roles, disable, enable, reset. In the operators'
 * account, what makes an operator is only proposed here, and a second operator confirms it, unless the command line asks.
 */
import { byUser } from '../../core/audit/actor.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { appliesTo } from '../../core/sign-in/origin.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import {
  findMember,
  findUser,
  hasOtherAdministrator,
  listMembers,
  type Member,
  type MemberColumn,
  recordAccessSet,
  setDisabled,
  type User,
} from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { isOperatorsAccount } from '../operator/operator.ts'
import { type ProposalResult, proposeOperatorChange } from '../operator/propose-change.ts'
import {
  type Administrator,
  actorOf,
  asAdministrator,
  asAdministratorOrKey,
  type By,
  checkMayGive,
  type Forbidden,
  isCommandLine,
} from './administrator.ts'
import {
  chooseRoles,
  enableUser,
  type Giver,
  giveRoles,
  hasSignInMethod,
  inviteUser,
  lockMember,
  type NotFound,
  resetAndMail,
  type TooMany,
} from './give-access.ts'

export type Person = Member & {
  /** `invited`: has neither a password nor a passkey, so has not used the invitation link yet. */
  readonly status: 'active' | 'invited' | 'disabled'
}

const BY_EMAIL = { search: '', sort: 'email', descending: false, after: null } as const

export async function listPeople(
  context: Pick<Context, 'db'>,
  accountId: string,
  wish: TableWish<MemberColumn> = BY_EMAIL,
): Promise<TablePage<Person>> {
  const { lines, after } = await listMembers(context.db, accountId, wish)
  return { lines: lines.map(withStatus), after }
}

/** Null when the account has no such user. */
export async function readPerson(
  context: Pick<Context, 'db'>,
  accountId: string,
  userId: string,
): Promise<Person | null> {
  const member = await findMember(context.db, accountId, userId)
  return member && withStatus(member)
}

function withStatus(member: Member): Person {
  const invited = appliesTo(member.origin, 'invitation') && !hasSignInMethod(member)
  return { ...member, status: member.disabled ? 'disabled' : invited ? 'invited' : 'active' }
}

const giverOf = (by: Administrator): Giver => ({ actor: by.actor, by, givers: by.givers })
const giverOfUser = (by: User): Giver => ({ actor: byUser(by.id), by, givers: [by.id] })

export type InvitationResult =
  | { readonly outcome: 'invited'; readonly userId: string }
  /** The invalid input: not an e-mail address, an address that the account already has, no role chosen. */
  | { readonly outcome: 'email' | 'exists' | 'role' }
  | ProposalResult
  | TooMany
  | NotFound
  | Forbidden

export function invitePerson(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  person: {
    readonly email: string
    readonly roleIds: readonly string[]
    /** The administrator's language: the best guess until the invited user has chosen one. */
    readonly language: string
  },
): Promise<InvitationResult> {
  return asAdministrator(context, by, async (tx, account, administrator): Promise<InvitationResult> => {
    const { language } = person
    const email = readEmail(person.email)
    if (email === null) return { outcome: 'email' }
    const roles = await chooseRoles(tx, account.id, person.roleIds)
    if ('outcome' in roles) return roles
    if (roles.administrator && isOperatorsAccount(context, account)) {
      if (await findUser(tx, account.id, email)) return { outcome: 'exists' }
      const wish = { change: 'create', userId: null, email, roleIds: roles.roleIds, language } as const
      return proposeOperatorChange(tx, administrator, wish)
    }
    const user = { accountId: account.id, email, roleIds: roles.roleIds, language }
    const result = await inviteUser(tx, giverOfUser(administrator), user)
    return result.outcome === 'given' ? { outcome: 'invited', userId: result.userId } : result
  })
}

/** Rejected: the account would have no administrator left. */
export type LastAdministrator = { readonly outcome: 'last_administrator' }

export type RolesResult =
  | { readonly outcome: 'saved' }
  | { readonly outcome: 'role' }
  | ProposalResult
  | LastAdministrator
  | NotFound
  | Forbidden

export function setPersonRoles(
  context: Pick<Context, 'db' | 'config'>,
  by: By,
  userId: string,
  roleIds: readonly string[],
): Promise<RolesResult> {
  return asAdministratorOrKey(context, by, async (tx, account, administrator): Promise<RolesResult> => {
    const member = await lockMember(tx, account.id, userId)
    // The host service says which roles its users have: when they sign in, or by a management key.
    if (!member || (typeof by === 'string' && !appliesTo(member.origin, 'roles'))) return { outcome: 'not_found' }
    const roles = await rolesFor(tx, member, by, roleIds)
    if ('outcome' in roles) return roles
    const access = roles.roleIds.some((id) => !member.roles.some((role) => role.id === id))
    const administers = roles.administrator && !member.administrator
    checkMayGive(by, { access, administrator: administers })
    if (typeof by !== 'string') await recordAccessSet(tx, userId)
    if (!roles.administrator && (await isLastAdministrator(tx, member))) return { outcome: 'last_administrator' }
    const { actor } = administrator
    if (administers && isOperatorsAccount(context, account) && !isCommandLine({ actor })) {
      const wish = { ...wishFor('promote', member, administrator.language), roleIds: roles.roleIds }
      return proposeOperatorChange(tx, administrator, wish)
    }
    await giveRoles(tx, giverOf(administrator), member, roles)
    const promoted = { ...member, administrator: administers }
    await noteOperatorChange(tx, context.config, { actor, account, change: 'promote', user: promoted })
    return { outcome: 'saved' }
  })
}

/** A management key may leave a user without a role, as the host service may. */
function rolesFor(tx: Transaction, { accountId }: Member, by: By, roleIds: readonly string[]) {
  if (typeof by !== 'string' && roleIds.length === 0) return { roleIds, administrator: false }
  return chooseRoles(tx, accountId, roleIds)
}

async function isLastAdministrator(tx: Transaction, member: Member): Promise<boolean> {
  return member.administrator && !(await hasOtherAdministrator(tx, member.accountId, member.id))
}

export type DisablingResult = { readonly outcome: 'disabled' } | LastAdministrator | NotFound | Forbidden

/** Ends all sessions of the user; their grants stop working until the user is enabled again. */
export function disablePerson(context: Pick<Context, 'db'>, by: By, userId: string): Promise<DisablingResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<DisablingResult> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    if (await isLastAdministrator(tx, member)) return { outcome: 'last_administrator' }
    if (!(await setDisabled(tx, userId, true))) return { outcome: 'disabled' }
    // Otherwise an older link would work again once the user is enabled.
    await spendPasswordLinks(tx, userId)
    await deleteSessions(tx, userId)
    await endTestModesOf(tx, actorOf(by), userId)
    await recordEvent(tx, { kind: 'user.disabled', actor: actorOf(by), accountId: account.id, userId })
    return { outcome: 'disabled' }
  })
}

export type EnablingResult =
  | { readonly outcome: 'enabled' }
  /** Enabled, and a link was mailed to them: their authenticator no longer works. */
  | { readonly outcome: 'sent' }
  | ProposalResult
  | TooMany
  | NotFound
  | Forbidden

export function enablePerson(context: Pick<Context, 'db' | 'config'>, by: By, userId: string): Promise<EnablingResult> {
  return asAdministratorOrKey(context, by, async (tx, account, administrator): Promise<EnablingResult> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    const returns = member.disabled && member.administrator
    checkMayGive(by, { access: false, administrator: returns })
    const { actor } = administrator
    if (returns && isOperatorsAccount(context, account) && !isCommandLine({ actor })) {
      return proposeOperatorChange(tx, administrator, wishFor('enable', member, administrator.language))
    }
    const result = await enableUser(tx, giverOf(administrator), member, administrator.language ?? 'en')
    if (result.outcome !== 'given') return result
    if (returns) await noteOperatorChange(tx, context.config, { actor, account, change: 'enable', user: member })
    return { outcome: result.reset ? 'sent' : 'enabled' }
  })
}

function wishFor(change: 'promote' | 'enable' | 'reset', { id, email, language }: Member, guess: string | null) {
  return { change, userId: id, email, roleIds: null, language: language ?? guess ?? 'en' }
}

export type PersonLinkResult =
  | { readonly outcome: 'sent' }
  /** A disabled user must be enabled first. */
  | { readonly outcome: 'disabled' }
  | ProposalResult
  | TooMany
  | NotFound
  | Forbidden

/** Resets a user who is locked out, or sends the invitation again (`resetAndMail`). */
export function sendPersonLink(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  userId: string,
  language: string,
): Promise<PersonLinkResult> {
  return asAdministrator(context, by, async (tx, account, administrator): Promise<PersonLinkResult> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member || !appliesTo(member.origin, 'reset')) return { outcome: 'not_found' }
    if (member.disabled) return { outcome: 'disabled' }
    if (member.administrator && isOperatorsAccount(context, account)) {
      return proposeOperatorChange(tx, administrator, wishFor('reset', member, language))
    }
    const result = await resetAndMail(tx, giverOfUser(administrator), member, language)
    return result.outcome === 'given' ? { outcome: 'sent' } : result
  })
}
