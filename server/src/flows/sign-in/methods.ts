/** The sign-in methods that a user has, as the security page shows them. */
import { listPasskeys, type PasskeyLine, readSignInUser } from '../../store/sign-in/methods.ts'
import { countRecoveryCodes } from '../../store/sign-in/recovery-codes.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

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
