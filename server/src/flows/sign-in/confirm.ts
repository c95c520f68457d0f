/** Re-authentication: a user whose sign-in is no longer fresh proves their identity before a sensitive action. */
import { randomUUID } from 'node:crypto'
import { signSession } from '../../secrets/web-texts.ts'
import { readSignInUser } from '../../store/sign-in/methods.ts'
import { type HostAccount, renewSession, type SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { attemptOf, provePasskey, type Refused, spendCode, withAttempt } from './prove.ts'
import type { Browser } from './sessions.ts'

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
  const attempt = attemptOf(context, account, user.email, user, browser)
  return withAttempt(context, attempt, async () => {
    const right = await context.passwords.matches(user.passwordDigest, given.password, true)
    if (!right || user.disabled) return { outcome: 'wrong' }
    if (user.authenticator && !(await spendCode(context, user, given.code, now))) return { outcome: 'wrong' }
    return renew(context, account, sessionUser)
  })
}

export async function confirmWithPasskey(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  answer: string,
  now: number,
): Promise<ConfirmResult> {
  const passkey = await provePasskey(context, account, answer, now)
  return passkey?.userId === sessionUser.id ? renew(context, account, sessionUser) : { outcome: 'wrong' }
}

async function renew(context: Context, account: HostAccount, sessionUser: SessionUser): Promise<ConfirmResult> {
  const id = randomUUID()
  const renewed = await context.db.transaction((tx) => renewSession(tx, sessionUser.session.id, id))
  return renewed
    ? { outcome: 'confirmed', cookie: signSession(context.config.keys, id, account.slug) }
    : { outcome: 'expired' }
}
