/** Users of an account, managed by its administrators: invite, change roles, disable, enable, reset. */
import { byUser } from '../../core/audit/actor.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { createId } from '../../secrets/random.ts'
import { listRoles } from '../../store/accounts/roles.ts'
import {
  findMember,
  hasOtherAdministrator,
  insertUser,
  listMembers,
  lockUserForChange,
  type Member,
  replaceUserRoles,
  setDisabled,
} from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { countRecentInvitations, lockRecentMails } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import { deleteSessions } from '../../store/sign-in/sessions.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { mailLink } from '../sign-in/links.ts'
import { resetUser } from '../sign-in/reset-user.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'

export type Person = Member & {
  /** `invited`: has neither a password nor a passkey, so has not used the invitation link yet. */
  readonly status: 'active' | 'invited' | 'disabled'
}

export async function listPeople(context: Pick<Context, 'db'>, accountId: string): Promise<readonly Person[]> {
  return (await listMembers(context.db, accountId)).map(withStatus)
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
  const { password, passkeys } = member.factors
  return { ...member, status: member.disabled ? 'disabled' : password || passkeys > 0 ? 'active' : 'invited' }
}

export type NotFound = { readonly outcome: 'not_found' }

/** The hourly mail limit is reached. It keeps an account from flooding strangers' mailboxes. */
export type TooMany = { readonly outcome: 'too_many' }

const INVITATIONS_PER_ACCOUNT = 100
const LINKS_PER_PERSON = 3

export type InvitationResult =
  | { readonly outcome: 'invited'; readonly userId: string }
  /** The invalid input: not an e-mail address, an address that the account already has, no role chosen. */
  | { readonly outcome: 'email' | 'exists' | 'role' }
  | TooMany
  | NotFound
  | Forbidden

export function invitePerson(
  context: Pick<Context, 'db'>,
  by: string,
  person: {
    readonly email: string
    readonly roleIds: readonly string[]
    /** The administrator's language: the best guess until the invited user has chosen one. */
    readonly language: string
  },
): Promise<InvitationResult> {
  return asAdministrator(context, by, async (tx, account, administrator): Promise<InvitationResult> => {
    const email = readEmail(person.email)
    if (email === null) return { outcome: 'email' }
    const roles = await chooseRoles(tx, account.id, person.roleIds)
    if ('outcome' in roles) return roles
    if ((await countRecentInvitations(tx, account.id)) >= INVITATIONS_PER_ACCOUNT) return { outcome: 'too_many' }
    const user = { id: createId('usr'), accountId: account.id }
    const { roleIds } = roles
    if (!(await insertUser(tx, { ...user, email, passwordDigest: null, roleIds }))) return { outcome: 'exists' }
    await recordEvent(tx, {
      kind: 'user.invited',
      actor: byUser(by),
      accountId: account.id,
      userId: user.id,
      detail: { roles: roleIds },
    })
    await mailLink(tx, user, person.language, { kind: 'invitation', detail: { by: administrator.email } })
    return { outcome: 'invited', userId: user.id }
  })
}

type ChosenRoles = { readonly roleIds: readonly string[]; readonly administrator: boolean }

/** Requires at least one role, all of this account. An id of another account's role counts as not found. */
async function chooseRoles(
  tx: Transaction,
  accountId: string,
  asked: readonly string[],
): Promise<ChosenRoles | { readonly outcome: 'role' } | NotFound> {
  const wanted = new Set(asked)
  if (wanted.size === 0) return { outcome: 'role' }
  const chosen = (await listRoles(tx, accountId)).filter((role) => wanted.has(role.id))
  if (chosen.length < wanted.size) return { outcome: 'not_found' }
  return { roleIds: chosen.map((role) => role.id), administrator: chosen.some((role) => role.holdsEveryScope) }
}

/** Rejected: the account would have no administrator left. */
export type LastAdministrator = { readonly outcome: 'last_administrator' }

export type RolesResult =
  | { readonly outcome: 'saved' }
  | { readonly outcome: 'role' }
  | LastAdministrator
  | NotFound
  | Forbidden

export function setPersonRoles(
  context: Pick<Context, 'db'>,
  by: string,
  userId: string,
  roleIds: readonly string[],
): Promise<RolesResult> {
  return asAdministrator(context, by, async (tx, account): Promise<RolesResult> => {
    const member = await findMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    const roles = await chooseRoles(tx, account.id, roleIds)
    if ('outcome' in roles) return roles
    if (!roles.administrator && (await isLastAdministrator(tx, member))) return { outcome: 'last_administrator' }

    const had = member.roles.map((role) => role.id)
    const added = roles.roleIds.filter((id) => !had.includes(id))
    const removed = had.filter((id) => !roles.roleIds.includes(id))
    if (added.length + removed.length === 0) return { outcome: 'saved' }
    if (!roles.administrator) await endTestModesOf(tx, byUser(by), userId)
    await replaceUserRoles(tx, userId, roles.roleIds)
    await recordEvent(tx, {
      kind: 'user.roles_changed',
      actor: byUser(by),
      accountId: account.id,
      userId,
      detail: { added, removed },
    })
    return { outcome: 'saved' }
  })
}

async function isLastAdministrator(tx: Transaction, member: Member): Promise<boolean> {
  return member.administrator && !(await hasOtherAdministrator(tx, member.accountId, member.id))
}

export type DisablingResult = { readonly outcome: 'disabled' } | LastAdministrator | NotFound | Forbidden

/**
 * Locks the user, then reads them. The lock waits for a sign-in in progress, so that its session is visible to the
 * following statements. Reading first could return outdated factors.
 */
async function lockMember(tx: Transaction, accountId: string, userId: string): Promise<Member | null> {
  await lockUserForChange(tx, userId)
  return findMember(tx, accountId, userId)
}

/** Ends all sessions of the user; their grants stop working until the user is enabled again. */
export function disablePerson(context: Pick<Context, 'db'>, by: string, userId: string): Promise<DisablingResult> {
  return asAdministrator(context, by, async (tx, account): Promise<DisablingResult> => {
    const member = await lockMember(tx, account.id, userId)
    if (!member) return { outcome: 'not_found' }
    if (await isLastAdministrator(tx, member)) return { outcome: 'last_administrator' }
    if (!(await setDisabled(tx, userId, true))) return { outcome: 'disabled' }
    // Otherwise an older link would work again once the user is enabled.
    await spendPasswordLinks(tx, userId)
    await deleteSessions(tx, userId)
    await endTestModesOf(tx, byUser(by), userId)
    await recordEvent(tx, { kind: 'user.disabled', actor: byUser(by), accountId: account.id, userId })
    return { outcome: 'disabled' }
  })
}

export type EnablingResult = { readonly outcome: 'enabled' } | NotFound | Forbidden

export function enablePerson(context: Pick<Context, 'db'>, by: string, userId: string): Promise<EnablingResult> {
  return asAdministrator(context, by, async (tx, account): Promise<EnablingResult> => {
    if (!(await findMember(tx, account.id, userId))) return { outcome: 'not_found' }
    if (await setDisabled(tx, userId, false)) {
      await recordEvent(tx, { kind: 'user.enabled', actor: byUser(by), accountId: account.id, userId })
    }
    return { outcome: 'enabled' }
  })
}

export type PersonLinkResult =
  | { readonly outcome: 'sent' }
  /** A disabled user must be enabled first. */
  | { readonly outcome: 'disabled' }
  | TooMany
  | NotFound
  | Forbidden

/**
 * Resets a user who is locked out or whose credentials may have leaked: removes every factor, session and token set,
 * then mails a link to choose a new password. A user who has not accepted the invitation gets a new invitation instead.
 */
export function sendPersonLink(
  context: Pick<Context, 'db'>,
  by: string,
  userId: string,
  language: string,
): Promise<PersonLinkResult> {
  return asAdministrator(context, by, async (tx, account, administrator): Promise<PersonLinkResult> => {
    const person = await lockMember(tx, account.id, userId)
    if (!person) return { outcome: 'not_found' }
    const { status } = withStatus(person)
    if (status === 'disabled') return { outcome: 'disabled' }
    const recent = await lockRecentMails(tx, userId, ['invitation', 'reset'])
    if (recent >= LINKS_PER_PERSON) return { outcome: 'too_many' }
    await resetUser(tx, byUser(by), userId)
    await recordEvent(tx, { kind: 'user.reset', actor: byUser(by), accountId: account.id, userId })
    const kind = status === 'invited' ? 'invitation' : 'reset'
    await mailLink(tx, person, person.language ?? language, { kind, detail: { by: administrator.email } })
    return { outcome: 'sent' }
  })
}
