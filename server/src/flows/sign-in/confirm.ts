/** Re-authentication: a user whose sign-in is no longer fresh proves their identity before a sensitive action. */
import { randomUUID } from 'node:crypto'
import { byUser } from '../../core/audit/actor.ts'
import { digestAddress, signSession } from '../../secrets/web-texts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { readSignInUser } from '../../store/sign-in/methods.ts'
import { type HostAccount, renewSession, type SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { attemptOf, provePasskey, type Refused, type SecondProof, sourceOf, spendCode, withAttempt } from './prove.ts'
import { hasSecondFactor } from './recovery-codes.ts'
import { auditedBrowser, type Browser } from './sessions.ts'

export type ConfirmResult = { readonly outcome: 'confirmed'; readonly cookie: string } | Refused

/** Verifies the password (and code) again and moves the session to a new id. */
export async function confirmWithPassword(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  given: { readonly password: string; readonly code: string },
  now: number,
  browser: Browser,
): Promise<ConfirmResult> {
  const user = await readSignInUser(context.db, account.id, sessionUser.id)
  if (!user) return { outcome: 'wrong' }
  const digest = digestAddress(context.config.keys, account.id, user.email)
  const attempt = attemptOf(context, account, digest, user, browser, 'confirm')
  return withAttempt(context, attempt, async () => {
    const right = await context.passwords.known(sourceOf(attempt)).matches(user.passwordDigest, given.password)
    if (!right || user.disabled) return { outcome: 'wrong' }
    if (!hasSecondFactor(user)) return renew(context, account, sessionUser, browser, 'password')
    const second = await spendCode(context, user, given.code, now)
    if (second === null) return { outcome: 'wrong' }
    return renew(context, account, sessionUser, browser, `password and ${second}`)
  })
}

export async function confirmWithPasskey(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  answer: string,
  now: number,
  browser: Browser,
): Promise<ConfirmResult> {
  const proven = await provePasskey(context, account, answer, now, browser)
  if (proven.outcome !== 'proven') return proven
  if (proven.passkey.userId !== sessionUser.id) return { outcome: 'wrong' }
  return renew(context, account, sessionUser, browser, 'passkey')
}

async function renew(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  browser: Browser,
  how: 'password' | `password and ${NonNullable<SecondProof>}` | 'passkey',
): Promise<ConfirmResult> {
  const id = randomUUID()
  const renewal = { id, keyId: context.config.keys.signing.id, secondFactor: how !== 'password' }
  const renewed = await context.db.transaction(async (tx) => {
    if (!(await renewSession(tx, sessionUser.session.id, renewal))) return false
    const about = { accountId: account.id, userId: sessionUser.id }
    const detail = { how, ...auditedBrowser(browser) }
    await recordEvent(tx, { kind: 'session.confirmed', actor: byUser(sessionUser.id), ...about, detail })
    return true
  })
  return renewed
    ? { outcome: 'confirmed', cookie: signSession(context.config.keys, id, account.slug) }
    : { outcome: 'expired' }
}
