/**
 * Giving a user access to an account: invitation, roles, enabling, reset. Called by an administrator's own transaction,
 * or, in the operators' account, by the one in which a second operator confirms. Nothing is written unless the outcome
 * is `given`.
 */
import type { Actor } from '../../core/audit/actor.ts'
import { createId } from '../../secrets/random.ts'
import { readRoles } from '../../store/accounts/roles.ts'
import {
  findMember,
  insertUser,
  lockUserForChange,
  type Member,
  replaceUserRoles,
  setDisabled,
} from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { countRecentMails, lockRecentMails } from '../../store/mails.ts'
import { saveAccessGivers } from '../../store/operator/operators.ts'
import { hasRetiredFactor } from '../../store/operator/signing-keys.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import { mailLink } from '../sign-in/links.ts'
import { resetUser } from '../sign-in/reset-user.ts'
import { announceAdministrator } from './announce-administrator.ts'

export type Giver = {
  readonly actor: Actor
  /** Whose wish it was; named in mails. Null: a management key. */
  readonly by: { readonly email: string | null }
  /** Ids of the administrators who gave the access: also of the one who confirmed it. */
  readonly givers: readonly string[]
}

export type NotFound = { readonly outcome: 'not_found' }

/** The hourly mail limit is reached. It keeps an account from flooding strangers' mailboxes. */
export type TooMany = { readonly outcome: 'too_many' }

const INVITATIONS_PER_ACCOUNT = 100
/** Per hour. */
export const LINKS_PER_PERSON = 3

export type Given = { readonly outcome: 'given'; readonly userId: string }

export type NewPerson = {
  readonly accountId: string
  readonly email: string
  readonly roleIds: readonly string[]
  /** The administrator's language: the best guess until the invited user has chosen one. */
  readonly language: string
  readonly externalId?: string | null
}

/** `exists`: the account already has this address. */
export async function inviteUser(
  tx: Transaction,
  { actor, by, givers }: Giver,
  { accountId, email, roleIds, language, externalId = null }: NewPerson,
): Promise<Given | TooMany | { readonly outcome: 'exists' }> {
  if ((await countRecentMails(tx, accountId, 'invitation')) >= INVITATIONS_PER_ACCOUNT) return { outcome: 'too_many' }
  const user = { id: createId('usr'), accountId }
  if (!(await insertUser(tx, { ...user, email, passwordDigest: null, roleIds, origin: 'own', externalId })))
    return { outcome: 'exists' }
  await saveAccessGivers(tx, user.id, 'invited', givers)
  await recordEvent(tx, { kind: 'user.invited', actor, accountId, userId: user.id, detail: { roles: roleIds } })
  await mailLink(tx, user, language, { kind: 'invitation', detail: { by: by.email } })
  return { outcome: 'given', userId: user.id }
}

export type ChosenRoles = { readonly roleIds: readonly string[]; readonly administrator: boolean }

/** Requires at least one role, all of this account. An id of another account's role counts as not found. */
export async function chooseRoles(
  tx: Transaction,
  accountId: string,
  asked: readonly string[],
): Promise<ChosenRoles | { readonly outcome: 'role' } | NotFound> {
  const wanted = new Set(asked)
  if (wanted.size === 0) return { outcome: 'role' }
  const chosen = (await readRoles(tx, accountId)).filter((role) => wanted.has(role.id))
  if (chosen.length < wanted.size) return { outcome: 'not_found' }
  return { roleIds: chosen.map((role) => role.id), administrator: chosen.some((role) => role.holdsEveryScope) }
}

/**
 * Locks the user, then reads them. The lock waits for a sign-in in progress, so that its session is visible to the
 * following statements. Reading first could return outdated factors.
 */
export async function lockMember(tx: Transaction, accountId: string, userId: string): Promise<Member | null> {
  await lockUserForChange(tx, userId)
  return findMember(tx, accountId, userId)
}

/** Replaces the roles of a user. Requires `lockMember`. */
export async function giveRoles(
  tx: Transaction,
  { actor, givers }: Giver,
  member: Member,
  { roleIds, administrator }: ChosenRoles,
): Promise<Given> {
  const { id: userId, accountId } = member
  const had = member.roles.map((role) => role.id)
  const added = roleIds.filter((id) => !had.includes(id))
  const removed = had.filter((id) => !roleIds.includes(id))
  if (added.length + removed.length === 0) return { outcome: 'given', userId }
  if (administrator && !member.administrator) await saveAccessGivers(tx, userId, 'promoted', givers)
  if (!administrator) await endTestModesOf(tx, actor, userId)
  await replaceUserRoles(tx, userId, roleIds)
  await recordEvent(tx, { kind: 'user.roles_changed', actor, accountId, userId, detail: { added, removed } })
  if (administrator && !member.administrator) await announceAdministrator(tx, actor, member)
  return { outcome: 'given', userId }
}

/**
 * Lets a disabled user sign in again. Resets a user who could not, because the key of their authenticator was retired
 * meanwhile (`reset`). Requires `lockMember`.
 */
export async function enableUser(
  tx: Transaction,
  giver: Giver,
  member: Member,
  language: string,
): Promise<(Given & { readonly reset: boolean }) | TooMany> {
  const { id: userId, accountId } = member
  if (!member.disabled) return { outcome: 'given', userId, reset: false }
  const reset = await hasRetiredFactor(tx, userId)
  if (reset) {
    const mailed = await resetAndMail(tx, giver, member, language)
    if (mailed.outcome !== 'given') return mailed
  }
  await setDisabled(tx, userId, false)
  await saveAccessGivers(tx, userId, 'enabled', giver.givers)
  await recordEvent(tx, { kind: 'user.enabled', actor: giver.actor, accountId, userId })
  if (member.administrator) await announceAdministrator(tx, giver.actor, member)
  return { outcome: 'given', userId, reset }
}

/**
 * Resets a user who is locked out or whose credentials may have leaked: removes every factor, session and token set,
 * then mails a link to choose a new password. A user who has not accepted the invitation gets a new invitation instead.
 * Requires `lockMember`.
 */
export async function resetAndMail(
  tx: Transaction,
  { actor, by, givers }: Giver,
  member: Member,
  language: string,
): Promise<Given | TooMany> {
  const { id: userId, accountId } = member
  const recent = await lockRecentMails(tx, userId, ['invitation', 'reset'])
  if (recent >= LINKS_PER_PERSON) return { outcome: 'too_many' }
  await saveAccessGivers(tx, userId, 'reset', givers)
  await resetUser(tx, actor, userId)
  await recordEvent(tx, { kind: 'user.reset', actor, accountId, userId })
  const kind = hasSignInMethod(member) ? 'reset' : 'invitation'
  await mailLink(tx, member, member.language ?? language, { kind, detail: { by: by.email } })
  return { outcome: 'given', userId }
}

/** A user without one has not used the invitation link yet. */
export function hasSignInMethod({ factors }: Member): boolean {
  return factors.password || factors.passkeys > 0
}
