/** The authenticator app that a user sets up and removes. */
import { randomUUID } from 'node:crypto'
import {
  authenticatorSecret,
  authenticatorUri,
  checkAuthenticatorCode,
  secretText,
  signSetup,
  verifySetup,
} from '../../secrets/authenticator.ts'
import { deleteAuthenticator, insertAuthenticator, listPasskeys, lockSession } from '../../store/sign-in/methods.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { type AddedFactor, addFactor, forgetSecondFactor, REFUSED, recordChange } from './method-changes.ts'
import { mustKeepSecondFactor } from './second-factor.ts'

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
    await recordChange(tx, account, sessionUser, 'user.authenticator_removed', {
      kind: 'sign_in_method_removed',
      detail,
    })
    return { outcome: 'removed' }
  })
}
