/** Verification of passwords, authenticator and recovery codes and passkeys, with rate-limited attempts. */

import { setTimeout as sleep } from 'node:timers/promises'
import { networkOf, type Source } from '../../core/network.ts'
import { isLastAttempt, maySignIn, type SignInHistory } from '../../core/sign-in/attempts.ts'
import { decidePasskey, type SpentBudget } from '../../core/sign-in/stranger.ts'
import { UNKNOWN_NETWORK } from '../../gate/limiter.ts'
import { authenticatorSecret, checkAuthenticatorCode } from '../../secrets/authenticator.ts'
import {
  assertionSubject,
  createChallenge,
  requestOptions,
  type VerifiedChallenge,
  verifyAssertion,
  verifyChallenge,
} from '../../secrets/passkey.ts'
import { PasswordsBusy } from '../../secrets/password-queue.ts'
import { verifyBrowser } from '../../secrets/web-texts.ts'
import type { SignInAttempt, SignInStep } from '../../store/sign-in/attempts.ts'
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
import { useRecoveryCode } from './recovery-codes.ts'
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

/**
 * How a user proved the second factor; null: not at all. A passkey is not among them: it counts as both factors.
 */
export type SecondProof = 'code' | 'recovery code' | null

/** Spends an authenticator code or a recovery code, whichever was typed. */
export async function spendCode(context: Context, user: SignInUser, typed: string, now: number): Promise<SecondProof> {
  if (await spendAuthenticatorCode(context, user, typed, now)) return 'code'
  return (await useRecoveryCode(context, user, typed)) ? 'recovery code' : null
}

async function spendAuthenticatorCode(
  context: Context,
  user: SignInUser,
  typed: string,
  now: number,
): Promise<boolean> {
  const { authenticator } = user
  const secret = authenticator && authenticatorSecret(context.config.keys, authenticator)
  const step = secret && checkAuthenticatorCode(secret, typed, now, authenticator.lastStep)
  return typeof step === 'number' && context.db.transaction((tx) => spendAuthenticatorStep(tx, user.id, step))
}

export type ProvenPasskey = { readonly outcome: 'proven'; readonly passkey: Pick<Passkey, 'id' | 'userId'> }

/** Verifies a passkey assertion and spends its challenge, so that each one works once. */
export async function provePasskey(
  context: Context,
  account: HostAccount,
  answer: string,
  now: number,
  browser: Browser,
): Promise<ProvenPasskey | Refused> {
  const network = networkOf(browser.address)
  const subject = assertionSubject(answer)
  const challenge = subject && verifyChallenge(context.config.keys, subject.challenge, `sign-in:${account.slug}`, now)
  const passkey = challenge && (await findPasskey(context.db, account.id, subject.credentialId))
  const about = {
    accountId: account.id,
    network,
    userId: passkey?.userId ?? null,
    email: null,
    step: 'passkey',
  } as const
  if (challenge) {
    const decision = decidePasskey(
      await context.signInFailures.readPasskeys(network ?? UNKNOWN_NETWORK),
      passkey !== null,
    )
    if (decision.outcome === 'refuse') {
      countRefused(context, about, 'network')
      return { outcome: 'locked', waitMs: decision.waitMs }
    }
    if (decision.outcome === 'delay') await sleep(decision.delayMs)
  }
  if (passkey && (await spendAssertion(context, account, answer, passkey, { ...challenge, text: subject.challenge }))) {
    return { outcome: 'proven', passkey }
  }
  await context.signInFailures.countPasskey(network ?? UNKNOWN_NETWORK)
  countRefused(context, about, 'passkey')
  return { outcome: 'wrong' }
}

async function spendAssertion(
  context: Context,
  account: HostAccount,
  answer: string,
  passkey: Passkey,
  challenge: { readonly text: string } & VerifiedChallenge,
): Promise<boolean> {
  const { id: rpId, origin } = relyingParty(context, account)
  const challengeOk = (text: string) => text === challenge.text
  const proven = await verifyAssertion({ answer, origin, rpId, challengeOk, passkey })
  if (!proven) return false
  return context.db.transaction(async (tx) => {
    if (!(await spendChallenge(tx, challenge.digest, challenge.expiresAt))) return false
    await saveCounter(tx, passkey.id, proven.counter)
    return true
  })
}

/** `email`: digest of the address or of the second step (secrets/web-texts.ts). */
export function attemptOf(
  context: Context,
  account: HostAccount,
  email: Buffer,
  user: SignInUser | null,
  browser: Browser,
  step: SignInStep,
): SignInAttempt {
  const { keys } = context.config
  return {
    accountId: account.id,
    email,
    browser: user && browser.known !== null ? verifyBrowser(keys, browser.known, user.id) : null,
    network: networkOf(browser.address),
    userId: user?.id ?? null,
    step,
  }
}

export function sourceOf({ network, accountId }: Pick<SignInAttempt, 'network' | 'accountId'>): Source {
  return { network: network ?? UNKNOWN_NETWORK, accountId }
}

/** Counts the attempt before it is verified, and uncounts it unless the result is `wrong`. */
export async function withAttempt<Result extends { readonly outcome: string }>(
  context: Context,
  attempt: SignInAttempt,
  look: () => Promise<Result | Refused>,
): Promise<Result | Refused> {
  const { id, history } = await context.attempts.reserve(attempt)
  let failed = false
  try {
    const allowance = maySignIn(history)
    if (!allowance.allowed) {
      countRefused(context, attempt, 'locked')
      return { outcome: 'locked', waitMs: allowance.waitMs }
    }
    const result = await look().catch(busy)
    failed = result.outcome === 'wrong'
    return result
  } finally {
    if (failed) countFailed(context, attempt, history)
    else await context.attempts.release(id)
  }
}

function countFailed(context: Context, attempt: SignInAttempt, history: SignInHistory): void {
  countRefused(context, attempt, attempt.step)
  if (isLastAttempt(history)) countRefused(context, attempt, attempt.step, 'session.locked')
}

type RefusedAttempt = Pick<SignInAttempt, 'accountId' | 'network' | 'userId'> & {
  /** Null: the refusal does not concern a single address. */
  readonly email: Buffer | null
}

/** Counts a refused attempt, for the audit log. */
export function countRefused(
  context: Context,
  { accountId, email, network, userId }: RefusedAttempt,
  reason: SignInStep | SpentBudget | 'locked',
  kind: 'session.refused' | 'session.locked' = 'session.refused',
): void {
  const subject = email?.subarray(0, 8).toString('hex') ?? userId ?? ''
  context.refusals.count({ kind, accountId, subject, network, userId, reason })
}

/** The queue for password hashing is full. */
export function busy(error: unknown): Extract<Refused, { outcome: 'wrong' | 'busy' | 'expired' }> {
  if (error instanceof PasswordsBusy) return { outcome: 'busy' }
  throw error
}
