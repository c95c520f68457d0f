/** Passkeys that a user adds and removes. */
import { createChallenge, creationOptions, verifyChallenge, verifyRegistration } from '../../secrets/passkey.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import {
  deletePasskey,
  insertPasskey,
  listPasskeys,
  lockSession,
  type PasskeyLine,
  readSignInUser,
  spendChallenge,
} from '../../store/sign-in/methods.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import { relyingParty } from '../accounts/address.ts'
import type { Context } from '../context.ts'
import { type AddedFactor, addFactor, forgetSecondFactor, REFUSED, recordChange } from './method-changes.ts'
import { mustKeepSecondFactor } from './second-factor.ts'

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
    await recordChange(tx, account, sessionUser, 'user.passkey_removed', { kind: 'sign_in_method_removed', detail })
    return { outcome: 'removed' }
  })
}
