/** How a user signs in, changed by themselves: password, passkeys, second factor. Each change is told to them by mail. */
import { randomUUID } from 'node:crypto'
import type { MailMatter } from '../core/mail.ts'
import { type PasswordProblem, passwordProblem } from '../core/password.ts'
import {
  authenticatorSecret,
  authenticatorUri,
  checkAuthenticatorCode,
  openSetup,
  sealSetup,
  secretText,
} from '../secrets/authenticator.ts'
import { createChallenge, creationOptions, openChallenge, verifyRegistration } from '../secrets/passkey.ts'
import { isCommonPassword } from '../secrets/password.ts'
import { recordEvent } from '../store/audit-events.ts'
import { insertMail } from '../store/mails.ts'
import type { Transaction } from '../store/postgres.ts'
import { deleteSessions, type VisitedAccount, type Visitor } from '../store/sessions.ts'
import {
  deleteAuthenticator,
  deletePasskey,
  insertAuthenticator,
  insertPasskey,
  listPasskeys,
  type PasskeyLine,
  readSignInUser,
  savePassword,
  spendChallenge,
} from '../store/sign-in-methods.ts'
import { relyingParty } from './account-address.ts'
import type { Context } from './context.ts'
import { attemptOf, type Refused, withAttempt } from './prove.ts'
import type { Browser } from './visit.ts'

export type SignInMethods = {
  readonly hasPassword: boolean
  readonly passkeys: readonly PasskeyLine[]
  readonly authenticatorSince: number | null
}

export async function readSignInMethods(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
): Promise<SignInMethods> {
  const user = await readSignInUser(context.db, account.id, visitor.id)
  return {
    hasPassword: user?.passwordDigest != null,
    passkeys: await listPasskeys(context.db, visitor.id),
    authenticatorSince: user?.authenticator?.createdAt ?? null,
  }
}

export type PasswordChange = { readonly current: string; readonly password: string; readonly again: string }

export type PasswordChangeResult =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unfit'; readonly problem: PasswordProblem }
  | Refused

/** Every other session ends: whoever got in with the old password is out. */
export async function changePassword(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  given: PasswordChange,
  browser: Browser,
): Promise<PasswordChangeResult> {
  const problem = passwordProblem(given, (password) => isCommonPassword(password, [visitor.email, account.slug]))
  if (problem) return { outcome: 'unfit', problem }
  const user = await readSignInUser(context.db, account.id, visitor.id)
  if (!user) return { outcome: 'wrong' }
  return withAttempt(context, attemptOf(context, account, user.email, user, browser), async () => {
    // Who never had one (a passkey did) proved themselves a moment ago: this page asks for a fresh session.
    if (user.passwordDigest !== null && !(await context.passwords.matches(user.passwordDigest, given.current))) {
      return { outcome: 'wrong' }
    }
    const digest = await context.passwords.digest(given.password)
    await context.db.transaction(async (tx) => {
      await savePassword(tx, visitor.id, digest)
      await deleteSessions(tx, visitor.id, visitor.session.id)
      await changed(tx, account, visitor, 'user.password_set', { kind: 'password_changed', detail: {} })
    })
    return { outcome: 'changed' }
  })
}

/** Options for the browser. The user's own passkeys are named, so that none is made twice on one device. */
export function passkeyCreation(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  known: readonly PasskeyLine[],
  now: number,
): string {
  const challenge = createChallenge(context.config.keys, `register:${visitor.id}`, now)
  const { id: rpId } = relyingParty(context, account)
  return JSON.stringify(
    creationOptions({
      rpId,
      rpName: account.name,
      userId: visitor.id,
      email: visitor.email,
      challenge,
      exclude: known.map(({ id, transports }) => ({ id, transports })),
    }),
  )
}

export async function addPasskey(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  given: { readonly answer: string; readonly name: string },
  now: number,
): Promise<boolean> {
  const { keys } = context.config
  const { id: rpId, origin } = relyingParty(context, account)
  const open = (text: string) => openChallenge(keys, text, `register:${visitor.id}`, now)
  let challenge: ReturnType<typeof open> = null
  const challengeOk = (text: string) => {
    challenge = open(text)
    return challenge !== null
  }
  const made = await verifyRegistration({ answer: given.answer, origin, rpId, challengeOk })
  const spent = challenge as ReturnType<typeof open>
  if (!made || !spent) return false
  const name = given.name.trim().slice(0, 100) || 'Passkey'
  return context.db.transaction(async (tx) => {
    if (!(await spendChallenge(tx, spent.digest, spent.expiresAt))) return false
    if (!(await insertPasskey(tx, { ...made, userId: visitor.id, name }))) return false
    const detail = { method: 'passkey' } as const
    await changed(tx, account, visitor, 'user.passkey_added', { kind: 'sign_in_method_added', detail })
    return true
  })
}

export function removePasskey(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  id: string,
): Promise<boolean> {
  return context.db.transaction(async (tx) => {
    const removed = await deletePasskey(tx, visitor.id, id)
    if (removed) await recordEvent(tx, { kind: 'user.passkey_removed', accountId: account.id, userId: visitor.id })
    return removed
  })
}

export type AuthenticatorSetup = { readonly setup: string; readonly secret: string; readonly uri: string }

/** Nothing is kept until the first code was right: the proposal comes back sealed. */
export function proposeAuthenticator(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  proposed: string | null = null,
): AuthenticatorSetup | null {
  const { keys } = context.config
  const fresh = { id: randomUUID(), keyId: keys.signing.id }
  const reference = proposed === null ? fresh : openSetup(keys, proposed, visitor.id)
  const secret = reference && authenticatorSecret(keys, reference)
  if (!secret) return null
  const setup = sealSetup(keys, { ...reference, userId: visitor.id })
  return { setup, secret: secretText(secret), uri: authenticatorUri(secret, account.name, visitor.email) }
}

export async function addAuthenticator(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  given: { readonly setup: string; readonly code: string },
  now: number,
): Promise<boolean> {
  const { keys } = context.config
  const reference = openSetup(keys, given.setup, visitor.id)
  const secret = reference && authenticatorSecret(keys, reference)
  const step = secret && checkAuthenticatorCode(secret, given.code, now, 0)
  if (!reference || typeof step !== 'number') return false
  await context.db.transaction(async (tx) => {
    await insertAuthenticator(tx, visitor.id, { ...reference, lastStep: step })
    const detail = { method: 'authenticator' } as const
    await changed(tx, account, visitor, 'user.authenticator_added', { kind: 'sign_in_method_added', detail })
  })
  return true
}

export async function removeAuthenticator(context: Context, account: VisitedAccount, visitor: Visitor): Promise<void> {
  await context.db.transaction(async (tx) => {
    if (!(await deleteAuthenticator(tx, visitor.id))) return
    await recordEvent(tx, { kind: 'user.authenticator_removed', accountId: account.id, userId: visitor.id })
  })
}

async function changed(
  tx: Transaction,
  account: VisitedAccount,
  visitor: Visitor,
  kind: 'user.password_set' | 'user.passkey_added' | 'user.authenticator_added',
  matter: Extract<MailMatter, { kind: 'password_changed' | 'sign_in_method_added' }>,
): Promise<void> {
  const about = { accountId: account.id, userId: visitor.id }
  await recordEvent(tx, { kind, ...about, detail: { by: 'user' } })
  await insertMail(tx, { ...matter, ...about, linkId: null, language: visitor.language ?? 'en' })
}
