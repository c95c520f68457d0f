/** How a user signs in, changed by themselves: password, passkeys, second factor. Each change is told to them by mail. */
import { randomUUID } from 'node:crypto'
import { byUser } from '../core/audit-actor.ts'
import type { MailMatter } from '../core/mail.ts'
import { type PasswordProblem, passwordProblem } from '../core/password.ts'
import {
  authenticatorSecret,
  authenticatorUri,
  checkAuthenticatorCode,
  verifySetup,
  signSetup,
  secretText,
} from '../secrets/authenticator.ts'
import { createChallenge, creationOptions, verifyChallenge, verifyRegistration } from '../secrets/passkey.ts'
import { isCommonPassword } from '../secrets/password.ts'
import { type AuditEvent, recordEvent } from '../store/audit-events.ts'
import { revokeGrants } from '../store/grants.ts'
import { spendPasswordLinks } from '../store/links.ts'
import { insertMail } from '../store/mails.ts'
import type { Transaction } from '../store/postgres.ts'
import { deleteSessions, type VisitedAccount, type Visitor } from '../store/sessions.ts'
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
} from '../store/sign-in-methods.ts'
import { lockUserForChange } from '../store/users.ts'
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
    const known = user.passwordDigest
    if (known !== null && !(await context.passwords.matches(known, given.current, true))) return { outcome: 'wrong' }
    const digest = await context.passwords.digest(given.password)
    const saved = await withinSession(context, visitor, async (tx) => {
      await spendPasswordLinks(tx, visitor.id)
      await savePassword(tx, visitor.id, digest)
      await deleteSessions(tx, visitor.id, visitor.session.id)
      await revokeGrants(tx, byUser(visitor.id), { tokenSetsOf: visitor.id }, 'password_changed')
      await changed(tx, account, visitor, 'user.password_set', { kind: 'password_changed', detail: {} })
      return true
    })
    return { outcome: saved ? 'changed' : 'expired' }
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
  const open = (text: string) => verifyChallenge(keys, text, `register:${visitor.id}`, now)
  let challenge: ReturnType<typeof open> = null
  const challengeOk = (text: string) => {
    challenge = open(text)
    return challenge !== null
  }
  const made = await verifyRegistration({ answer: given.answer, origin, rpId, challengeOk })
  const spent = challenge as ReturnType<typeof open>
  if (!made || !spent) return false
  const name = given.name.trim().slice(0, 100) || 'Passkey'
  return withinSession(context, visitor, async (tx) => {
    if (!(await spendChallenge(tx, spent.digest, spent.expiresAt))) return false
    if (!(await insertPasskey(tx, { ...made, userId: visitor.id, name }))) return false
    const detail = { method: 'passkey' } as const
    await changed(tx, account, visitor, 'user.passkey_added', { kind: 'sign_in_method_added', detail })
    return true
  })
}

export type PasskeyRemoval = { readonly outcome: 'removed' | 'not_found' | 'last_passkey' }

/** Without a password, the last passkey is the only way in: taking it away would lock its owner out. */
export function removePasskey(
  context: Context,
  account: VisitedAccount,
  visitor: Visitor,
  id: string,
): Promise<PasskeyRemoval> {
  return context.db.transaction(async (tx): Promise<PasskeyRemoval> => {
    // One after the other: of two removals at once, the second sees what the first has left.
    await lockUserForChange(tx, visitor.id)
    const user = await readSignInUser(tx, account.id, visitor.id)
    const passkeys = await listPasskeys(tx, visitor.id)
    const alive = await lockSession(tx, visitor.session.id, visitor.id)
    if (!alive || !passkeys.some((passkey) => passkey.id === id)) return { outcome: 'not_found' }
    if (user?.passwordDigest == null && passkeys.length === 1) return { outcome: 'last_passkey' }
    await deletePasskey(tx, visitor.id, id)
    const detail = { method: 'passkey' } as const
    await changed(tx, account, visitor, 'user.passkey_removed', { kind: 'sign_in_method_removed', detail })
    return { outcome: 'removed' }
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
  const reference = proposed === null ? fresh : verifySetup(keys, proposed, visitor.id)
  const secret = reference && authenticatorSecret(keys, reference)
  if (!secret) return null
  const setup = signSetup(keys, { ...reference, userId: visitor.id })
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
  const reference = verifySetup(keys, given.setup, visitor.id)
  const secret = reference && authenticatorSecret(keys, reference)
  const step = secret && checkAuthenticatorCode(secret, given.code, now, 0)
  if (!reference || typeof step !== 'number') return false
  return withinSession(context, visitor, async (tx) => {
    await insertAuthenticator(tx, visitor.id, { ...reference, lastStep: step })
    const detail = { method: 'authenticator' } as const
    await changed(tx, account, visitor, 'user.authenticator_added', { kind: 'sign_in_method_added', detail })
    return true
  })
}

export async function removeAuthenticator(context: Context, account: VisitedAccount, visitor: Visitor): Promise<void> {
  await withinSession(context, visitor, async (tx) => {
    if (!(await deleteAuthenticator(tx, visitor.id))) return false
    const detail = { method: 'authenticator' } as const
    await changed(tx, account, visitor, 'user.authenticator_removed', { kind: 'sign_in_method_removed', detail })
    return true
  })
}

/** False, and nothing is done, when the session that asks was ended in the meantime. */
function withinSession(
  context: Context,
  visitor: Visitor,
  work: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  return context.db.transaction(async (tx) => (await lockSession(tx, visitor.session.id, visitor.id)) && work(tx))
}

async function changed(
  tx: Transaction,
  account: VisitedAccount,
  visitor: Visitor,
  kind: Extract<
    AuditEvent['kind'],
    'user.password_set' | `user.passkey_${'added' | 'removed'}` | `user.authenticator_${'added' | 'removed'}`
  >,
  matter: Extract<MailMatter, { kind: 'password_changed' | 'sign_in_method_added' | 'sign_in_method_removed' }>,
): Promise<void> {
  const about = { accountId: account.id, userId: visitor.id }
  await recordEvent(tx, { kind, actor: byUser(visitor.id), ...about })
  await insertMail(tx, { ...matter, ...about, linkId: null, language: visitor.language ?? 'en' })
}
