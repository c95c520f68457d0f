/** A signed-in user changes the password. */
import { byUser } from '../../core/audit/actor.ts'
import { digestAddress } from '../../secrets/web-texts.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import { spendPasswordLinks } from '../../store/sign-in/links.ts'
import { lockSession, readSignInUser, savePassword } from '../../store/sign-in/methods.ts'
import { deleteSessions, type HostAccount, type SessionUser } from '../../store/sign-in/sessions.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { type RefusedChoice, refuseChoice } from './chosen-password.ts'
import { recordChange } from './method-changes.ts'
import { attemptOf, type Refused, sourceOf, withAttempt } from './prove.ts'
import type { Browser } from './sessions.ts'

export type PasswordChange = { readonly current: string; readonly password: string; readonly again: string }

export type PasswordChangeResult = { readonly outcome: 'changed' } | RefusedChoice | Refused

/** Changes the password and ends all other sessions, so that an attacker with the old password is signed out. */
export async function changePassword(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  given: PasswordChange,
  browser: Browser,
): Promise<PasswordChangeResult> {
  const refused = await refuseChoice(context, sessionUser.session.id, given, account, sessionUser.email)
  if (refused) return refused
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
    const saved = await context.db.transaction(async (tx) => {
      if (!(await lockSession(tx, sessionUser.session.id, sessionUser.id))) return false
      await spendPasswordLinks(tx, sessionUser.id)
      await savePassword(tx, sessionUser.id, digest)
      await deleteSessions(tx, sessionUser.id, sessionUser.session.id)
      await endTestModesOf(tx, byUser(sessionUser.id), sessionUser.id)
      await revokeGrants(tx, byUser(sessionUser.id), { tokenSetsOf: sessionUser.id }, 'password_changed')
      await recordChange(tx, account, sessionUser, 'user.password_set', { kind: 'password_changed', detail: {} })
      return true
    })
    return { outcome: saved ? 'changed' : 'expired' }
  })
}
