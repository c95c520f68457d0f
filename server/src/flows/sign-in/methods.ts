/** Sign-in methods that a user manages: password, passkeys, authenticator. Every change is mailed to the user. */
import { randomUUID } from 'node:crypto'
import { byUser } from '../../core/audit/actor.ts'
import type { MailContent } from '../../core/mail.ts'
import type { PasswordProblem } from '../../core/sign-in/password.ts'
import {
  authenticatorSecret,
  authenticatorUri,
  checkAuthenticatorCode,
  secretText,
  signSetup,
  verifySetup,
} from '../../secrets/authenticator.ts'
import { createChallenge, creationOptions, verifyChallenge, verifyRegistration } from '../../secrets/passkey.ts'
import { digestAddress } from '../../secrets/web-texts.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import { insertMail } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import {
  deleteAuthenticator,
  deletePasskey,
  insertAuthenticator,
  insertPasskey,
  listPasskeys,
  lockSession,
  type PasskeyLine,
  readSignInUser,
  savePassword,
  spendChallenge,
} from '../../store/sign-in/methods.ts'
import { countRecoveryCodes, deleteRecoveryCodes } from '../../store/sign-in/recovery-codes.ts'
import {
  deleteSessions,
  type HostAccount,
  markSecondFactor,
  type SessionUser,
  unmarkSecondFactor,
} from '../../store/sign-in/sessions.ts'
import { relyingParty } from '../accounts/address.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { problemOfPassword, publicNames } from './chosen-password.ts'
import { attemptOf, type Refused, sourceOf, withAttempt } from './prove.ts'
import { hasSecondFactor, issueRecoveryCodes } from './recovery-codes.ts'
import { mustKeepSecondFactor } from './second-factor.ts'
import type { Browser } from './sessions.ts'

export type SignInMethods = {
  readonly hasPassword: boolean
  readonly passkeys: readonly PasskeyLine[]
  readonly authenticatorSince: number | null
  /** How many recovery codes are left. */
  readonly recoveryCodes: number
}

export async function readSignInMethods(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
): Promise<SignInMethods> {
  const user = await readSignInUser(context.db, account.id, sessionUser.id)
  return {
    hasPassword: user?.passwordDigest != null,
    passkeys: await listPasskeys(context.db, sessionUser.id),
    authenticatorSince: user?.authenticator?.createdAt ?? null,
    recoveryCodes: await countRecoveryCodes(context.db, sessionUser.id),
  }
}

export type PasswordChange = { readonly current: string; readonly password: string; readonly again: string }

export type PasswordChangeResult =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unfit'; readonly problem: PasswordProblem }
  | Refused

/** Changes the password and ends all other sessions, so that an attacker with the old password is signed out. */
export async function changePassword(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  given: PasswordChange,
  browser: Browser,
): Promise<PasswordChangeResult> {
  const problem = await problemOfPassword(given, { email: sessionUser.email, names: publicNames(context, account) })
  if (problem) return { outcome: 'unfit', problem }
  const user = await readSignInUser(context.db, account.id, sessionUser.id)
  if (!user) return { outcome: 'wrong' }
  const address = digestAddress(context.config.keys, account.id, user.email)
  const attempt = attemptOf(context, account, address, user, browser, 'confirm')
  const passwords = context.passwords.known(sourceOf(attempt))
  return withAttempt(context, attempt, async () => {
    // A user without a password (passkey only) is not asked for one: this page requires a fresh session.
    const known = user.passwordDigest
    if (known !== null && !(await passwords.matches(known, given.current))) return { outcome: 'wrong' }
    const digest = await passwords.digest(given.password)
    const saved = await withinSession(context, sessionUser, async (tx) => {
      await spendPasswordLinks(tx, sessionUser.id)
      await savePassword(tx, sessionUser.id, digest)
      await deleteSessions(tx, sessionUser.id, sessionUser.session.id)
      await endTestModesOf(tx, byUser(sessionUser.id), sessionUser.id)
      await revokeGrants(tx, byUser(sessionUser.id), { tokenSetsOf: sessionUser.id }, 'password_changed')
      await changed(tx, account, sessionUser, 'user.password_set', { kind: 'password_changed', detail: {} })
      return true
    })
    return { outcome: saved ? 'changed' : 'expired' }
  })
}

/** WebAuthn creation options. They exclude the user's passkeys, so that no device registers a second one. */
export function passkeyCreation(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  known: readonly PasskeyLine[],
  now: number,
): string {
  const challenge = createChallenge(context.config.keys, `register:${sessionUser.id}`, now)
  const { id: rpId } = relyingParty(context, account)
  return JSON.stringify(
    creationOptions({
      rpId,
      rpName: account.name,
      userId: sessionUser.id,
      email: sessionUser.email,
      challenge,
      exclude: known.map(({ id, transports }) => ({ id, transports })),
    }),
  )
}

/** `recoveryCodes`: new ones, to be shown once; null unless this is the user's first second factor. */
export type AddedFactor =
  | { readonly outcome: 'added'; readonly recoveryCodes: readonly string[] | null }
  | { readonly outcome: 'refused' }

const REFUSED: AddedFactor = { outcome: 'refused' }

export async function addPasskey(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  given: { readonly answer: string; readonly name: string },
  now: number,
): Promise<AddedFactor> {
  const { keys } = context.config
  const { id: rpId, origin } = relyingParty(context, account)
  const open = (text: string) => verifyChallenge(keys, text, `register:${sessionUser.id}`, now)
  let challenge: ReturnType<typeof open> = null
  const challengeOk = (text: string) => {
    challenge = open(text)
    return challenge !== null
  }
  const made = await verifyRegistration({ answer: given.answer, origin, rpId, challengeOk })
  const spent = challenge as ReturnType<typeof open>
  if (!made || !spent) return REFUSED
  const name = given.name.trim().slice(0, 100) || 'Passkey'
  return addFactor(context, account, sessionUser, 'passkey', async (tx) => {
    if (!(await spendChallenge(tx, spent.digest, spent.expiresAt))) return false
    return insertPasskey(tx, { ...made, userId: sessionUser.id, name })
  })
}

/** The session counts as made with the second factor from now on: the user has just proved to have it. */
function addFactor(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  method: 'passkey' | 'authenticator',
  insert: (tx: Transaction) => Promise<boolean>,
): Promise<AddedFactor> {
  return context.db.transaction(async (tx): Promise<AddedFactor> => {
    if (!(await lockSession(tx, sessionUser.session.id, sessionUser.id))) return REFUSED
    const before = await readSignInUser(tx, account.id, sessionUser.id)
    if (!before) return REFUSED
    const isFirst = !hasSecondFactor(before)
    // Another session may have added the first one since this request began.
    if (!isFirst && !sessionUser.session.secondFactor) return REFUSED
    if (!(await insert(tx))) return REFUSED
    await markSecondFactor(tx, sessionUser.session.id)
    const recoveryCodes = isFirst ? await issueRecoveryCodes(context, tx, sessionUser.id) : null
    const detail = { method }
    await changed(tx, account, sessionUser, `user.${method}_added`, { kind: 'sign_in_method_added', detail })
    return { outcome: 'added', recoveryCodes }
  })
}

export type PasskeyRemoval = { readonly outcome: 'removed' | 'not_found' | 'last_passkey' | 'required' }

/**
 * Refuses to remove the last passkey of a user without a password, who would be locked out, and the last second factor
 * of a user who needs one.
 */
export function removePasskey(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  id: string,
  now: number,
): Promise<PasskeyRemoval> {
  return context.db.transaction(async (tx): Promise<PasskeyRemoval> => {
    // Serializes removals: the second of two concurrent ones sees what the first has left.
    await lockUserForChange(tx, sessionUser.id)
    const user = await readSignInUser(tx, account.id, sessionUser.id)
    const passkeys = await listPasskeys(tx, sessionUser.id)
    const alive = await lockSession(tx, sessionUser.session.id, sessionUser.id)
    if (!alive || !passkeys.some((passkey) => passkey.id === id)) return { outcome: 'not_found' }
    if (user?.passwordDigest == null && passkeys.length === 1) return { outcome: 'last_passkey' }
    const isLast = passkeys.length === 1 && user?.authenticator == null
    if (isLast && mustKeepSecondFactor(context, account, sessionUser, now)) return { outcome: 'required' }
    await deletePasskey(tx, sessionUser.id, id)
    if (isLast) await forgetSecondFactor(tx, sessionUser.id)
    const detail = { method: 'passkey' } as const
    await changed(tx, account, sessionUser, 'user.passkey_removed', { kind: 'sign_in_method_removed', detail })
    return { outcome: 'removed' }
  })
}

/** After the last second factor was removed. */
async function forgetSecondFactor(tx: Transaction, userId: string): Promise<void> {
  await deleteRecoveryCodes(tx, userId)
  await unmarkSecondFactor(tx, userId)
}

export type AuthenticatorSetup = { readonly setup: string; readonly secret: string; readonly uri: string }

/** Proposes a TOTP secret. Nothing is stored until the first correct code: the form carries the signed proposal. */
export function proposeAuthenticator(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  proposed: string | null = null,
): AuthenticatorSetup | null {
  const { keys } = context.config
  const fresh = { id: randomUUID(), keyId: keys.signing.id }
  const reference = proposed === null ? fresh : verifySetup(keys, proposed, sessionUser.id)
  const secret = reference && authenticatorSecret(keys, reference)
  if (!secret) return null
  const setup = signSetup(keys, { ...reference, userId: sessionUser.id })
  return { setup, secret: secretText(secret), uri: authenticatorUri(secret, account.name, sessionUser.email) }
}

export async function addAuthenticator(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  given: { readonly setup: string; readonly code: string },
  now: number,
): Promise<AddedFactor> {
  const { keys } = context.config
  const reference = verifySetup(keys, given.setup, sessionUser.id)
  const secret = reference && authenticatorSecret(keys, reference)
  const step = secret && checkAuthenticatorCode(secret, given.code, now, 0)
  if (!reference || typeof step !== 'number') return REFUSED
  return addFactor(context, account, sessionUser, 'authenticator', async (tx) => {
    await insertAuthenticator(tx, sessionUser.id, { ...reference, lastStep: step })
    return true
  })
}

export type AuthenticatorRemoval = { readonly outcome: 'removed' | 'required' }

export function removeAuthenticator(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  now: number,
): Promise<AuthenticatorRemoval> {
  return context.db.transaction(async (tx): Promise<AuthenticatorRemoval> => {
    if (!(await lockSession(tx, sessionUser.session.id, sessionUser.id))) return { outcome: 'removed' }
    const isLast = (await listPasskeys(tx, sessionUser.id)).length === 0
    if (isLast && mustKeepSecondFactor(context, account, sessionUser, now)) return { outcome: 'required' }
    if (!(await deleteAuthenticator(tx, sessionUser.id))) return { outcome: 'removed' }
    if (isLast) await forgetSecondFactor(tx, sessionUser.id)
    const detail = { method: 'authenticator' } as const
    await changed(tx, account, sessionUser, 'user.authenticator_removed', { kind: 'sign_in_method_removed', detail })
    return { outcome: 'removed' }
  })
}

/** Runs `work` under a lock on the session. Returns false without running it if the session has ended meanwhile. */
function withinSession(
  context: Context,
  sessionUser: SessionUser,
  work: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  return context.db.transaction(
    async (tx) => (await lockSession(tx, sessionUser.session.id, sessionUser.id)) && work(tx),
  )
}

async function changed(
  tx: Transaction,
  account: HostAccount,
  sessionUser: SessionUser,
  kind: Extract<
    AuditEvent['kind'],
    'user.password_set' | `user.passkey_${'added' | 'removed'}` | `user.authenticator_${'added' | 'removed'}`
  >,
  matter: Extract<MailContent, { kind: 'password_changed' | 'sign_in_method_added' | 'sign_in_method_removed' }>,
): Promise<void> {
  const about = { accountId: account.id, userId: sessionUser.id }
  await recordEvent(tx, { kind, actor: byUser(sessionUser.id), ...about })
  await insertMail(tx, { ...matter, ...about, linkId: null, language: sessionUser.language ?? 'en' })
}
