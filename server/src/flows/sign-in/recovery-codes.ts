/** Recovery codes of a user who has a second factor: ten, shown once, each usable once instead of it. */
import { byUser } from '../../core/audit/actor.ts'
import { createRecoveryCodes, digestRecoveryCode, recoveryCodeDigests } from '../../secrets/recovery-code.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { insertMail } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { lockSession, readSignInUser, type SignInUser } from '../../store/sign-in/methods.ts'
import { countRecoveryCodes, replaceRecoveryCodes, spendRecoveryCode } from '../../store/sign-in/recovery-codes.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

/** Replaces the user's codes. Returns the new ones, which are not kept. */
export async function issueRecoveryCodes(
  { config: { keys } }: Pick<Context, 'config'>,
  tx: Transaction,
  userId: string,
): Promise<readonly string[]> {
  const codes = createRecoveryCodes()
  const digests = codes.map((code) => digestRecoveryCode(keys, userId, code))
  await replaceRecoveryCodes(tx, userId, keys.signing.id, digests)
  return codes
}

/** Null if the session has ended meanwhile, or the user has no second factor that codes could replace. */
export function renewRecoveryCodes(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
): Promise<readonly string[] | null> {
  return context.db.transaction(async (tx) => {
    if (!(await lockSession(tx, sessionUser.session.id, sessionUser.id))) return null
    const user = await readSignInUser(tx, account.id, sessionUser.id)
    if (!user || !hasSecondFactor(user)) return null
    const codes = await issueRecoveryCodes(context, tx, user.id)
    const about = { accountId: account.id, userId: user.id }
    const language = user.language ?? 'en'
    await recordEvent(tx, { kind: 'user.recovery_codes_created', actor: byUser(user.id), ...about })
    await insertMail(tx, { kind: 'recovery_codes_created', ...about, linkId: null, language, detail: {} })
    return codes
  })
}

/** Spends a code and mails the user that it was used. */
export async function useRecoveryCode(context: Context, user: SignInUser, typed: string): Promise<boolean> {
  const digests = recoveryCodeDigests(context.config.keys, user.id, typed)
  if (digests.length === 0) return false
  return context.db.transaction(async (tx) => {
    await lockUserForChange(tx, user.id)
    if (!(await spendRecoveryCode(tx, user.id, digests))) return false
    const about = { accountId: user.accountId, userId: user.id }
    const detail = { left: await countRecoveryCodes(tx, user.id) }
    await recordEvent(tx, { kind: 'user.recovery_code_used', actor: byUser(user.id), ...about, detail })
    const language = user.language ?? 'en'
    await insertMail(tx, { kind: 'recovery_code_used', ...about, linkId: null, language, detail })
    return true
  })
}

/** With one, the password or a mailed link is only the first step of signing in. */
export function hasSecondFactor({ authenticator, hasPasskey }: SignInUser): boolean {
  return authenticator !== null || hasPasskey
}
