/** Verification of passwords, authenticator codes and passkeys, with rate-limited attempts. */

import { networkOf } from '../../core/network.ts'
import { type Allowance, maySignIn } from '../../core/sign-in/attempts.ts'
import { authenticatorSecret, checkAuthenticatorCode } from '../../secrets/authenticator.ts'
import {
  assertionSubject,
  createChallenge,
  requestOptions,
  verifyAssertion,
  verifyChallenge,
} from '../../secrets/passkey.ts'
import { PasswordsBusy } from '../../secrets/password.ts'
import { digestAddress, verifyBrowser } from '../../secrets/web-texts.ts'
import { releaseSignInAttempt, reserveSignInAttempt, type SignInAttempt } from '../../store/sign-in/attempts.ts'
import {
  findPasskey,
  type Passkey,
  type SignInUser,
  saveCounter,
  spendAuthenticatorStep,
  spendChallenge,
} from '../../store/sign-in/methods.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import { relyingParty } from '../accounts/address.ts'
import type { Context } from '../context.ts'
import type { Browser } from './sessions.ts'

/** `wrong` covers an unknown address, a wrong password, a user without a password and a disabled user alike. */
export type Refused =
  | { readonly outcome: 'wrong' | 'busy' | 'expired' }
  | { readonly outcome: 'locked'; readonly waitMs: number }

/** WebAuthn request options with a signed, stateless challenge: showing the page stores nothing. */
export function passkeyRequest(context: Context, account: HostAccount, now: number): string {
  const challenge = createChallenge(context.config.keys, `sign-in:${account.slug}`, now)
  return JSON.stringify(requestOptions({ rpId: relyingParty(context, account).id, challenge }))
}

export async function spendCode(context: Context, user: SignInUser, typed: string, now: number): Promise<boolean> {
  const { authenticator } = user
  const secret = authenticator && authenticatorSecret(context.config.keys, authenticator)
  const step = secret && checkAuthenticatorCode(secret, typed, now, authenticator.lastStep)
  return typeof step === 'number' && spendAuthenticatorStep(context.db, user.id, step)
}

/** Verifies a passkey assertion and spends its challenge, so that each one works once. */
export async function provePasskey(
  context: Context,
  account: HostAccount,
  answer: string,
  now: number,
): Promise<Pick<Passkey, 'id' | 'userId'> | null> {
  const subject = assertionSubject(answer)
  const challenge = subject && verifyChallenge(context.config.keys, subject.challenge, `sign-in:${account.slug}`, now)
  const passkey = challenge && (await findPasskey(context.db, account.id, subject.credentialId))
  if (!passkey) return null
  const { id: rpId, origin } = relyingParty(context, account)
  const challengeOk = (text: string) => text === subject.challenge
  const proven = await verifyAssertion({ answer, origin, rpId, challengeOk, passkey })
  if (!proven) return null
  return context.db.transaction(async (tx) => {
    if (!(await spendChallenge(tx, challenge.digest, challenge.expiresAt))) return null
    await saveCounter(tx, passkey.id, proven.counter)
    return passkey
  })
}

export function attemptOf(
  context: Context,
  account: HostAccount,
  email: string,
  user: SignInUser | null,
  browser: Browser,
): SignInAttempt {
  const { keys } = context.config
  return {
    accountId: account.id,
    email: digestAddress(keys, account.id, email),
    browser: user && browser.known !== null ? verifyBrowser(keys, browser.known, user.id) : null,
    network: networkOf(browser.address),
  }
}

/** Counts the attempt before it is verified, and uncounts it unless the result is `wrong`. */
export async function withAttempt<Result extends { readonly outcome: string }>(
  context: Context,
  attempt: SignInAttempt,
  look: () => Promise<Result | Refused>,
): Promise<Result | Refused> {
  const { id, history } = await context.db.transaction((tx) => reserveSignInAttempt(tx, attempt))
  const allowance: Allowance = maySignIn(history)
  const result = allowance.allowed
    ? await look().catch(busy)
    : ({ outcome: 'locked', waitMs: allowance.waitMs } as const)
  if (result.outcome !== 'wrong') await releaseSignInAttempt(context.db, id)
  return result
}

/** The queue for password hashing is full. */
export function busy(error: unknown): Extract<Refused, { outcome: 'wrong' | 'busy' | 'expired' }> {
  if (error instanceof PasswordsBusy) return { outcome: 'busy' }
  throw error
}
