/**
 * Sign-in with a password and, if the user has a second factor, a code of an authenticator or a recovery code; or with a
 * passkey, which counts as both factors.
 */
import { randomUUID } from 'node:crypto'
import {
  digestAddress,
  digestSecondStep,
  markPassword,
  signBrowser,
  signSecondStep,
  verifyBrowser,
  verifySecondStep,
} from '../../secrets/web-texts.ts'
import {
  findSignInUser,
  type Proof,
  readSignInUser,
  type SignInUser,
  spendChallenge,
} from '../../store/sign-in/methods.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { attemptOf, provePasskey, type Refused, sourceOf, spendCode, withAttempt } from './prove.ts'
import { hasSecondFactor } from './recovery-codes.ts'
import { renewImported } from './renew-imported.ts'
import { type Authenticated, type Browser, type SignedIn, startSession } from './sessions.ts'
import { type AskedToConfirm, signInAsStranger } from './stranger.ts'

/** Enough time to fetch a phone. */
export const SECOND_STEP_MS = 5 * 60 * 1000

export type SignInResult =
  | (SignedIn & { readonly browser: string })
  | { readonly outcome: 'second_step'; readonly step: string }
  | Refused

export async function signInWithPassword(
  context: Context,
  account: HostAccount,
  given: { readonly email: string; readonly password: string },
  browser: Browser,
): Promise<SignInResult | AskedToConfirm> {
  const email = given.email.trim().toLowerCase()
  const user = await findSignInUser(context.db, account.id, email)
  const digest = digestAddress(context.config.keys, account.id, email)
  const attempt = attemptOf(context, account, digest, user, browser, 'password')
  const { password } = given
  const enter = async (proven: SignInUser) => {
    const renewed = await renewImported(context, proven, password, sourceOf(attempt))
    return enterWithPassword(context, account, renewed, browser, 'password')
  }
  if (!user || attempt.browser === null) {
    return signInAsStranger(context, { attempt, user, password, language: browser.language, enter })
  }
  return withAttempt(context, attempt, async () => {
    const right = await context.passwords.known(sourceOf(attempt)).matches(user.passwordDigest, password)
    return right && !user.disabled ? enter(user) : { outcome: 'wrong' }
  })
}

/** Continues after the password or a mailed link was verified. A user with a second factor still has to prove it. */
export async function enterWithPassword(
  context: Context,
  account: HostAccount,
  user: SignInUser,
  browser: Browser,
  how: string,
): Promise<SignInResult> {
  if (hasSecondFactor(user)) return secondStep(context, account, user, browser)
  return enter(context, account, user, browser, { how, secondFactor: false, proof: proofOf(user) })
}

/** What the user can continue with; null if the first step has expired. */
export async function readSecondStep(
  context: Context,
  account: HostAccount,
  step: string,
  browser: Browser,
): Promise<{ readonly authenticator: boolean; readonly passkey: boolean } | null> {
  const passed = await verifyStep(context, account, step, browser)
  return passed && { authenticator: passed.user.authenticator !== null, passkey: passed.user.hasPasskey }
}

/** The first step, in the browser that passed it. */
async function verifyStep(context: Context, account: HostAccount, text: string, { mark }: Browser) {
  const step = verifySecondStep(context.config.keys, text, account.slug, mark)
  const user = step && (await readSignInUser(context.db, account.id, step.userId))
  if (!step || !user || user.disabled || user.readAt - step.at > SECOND_STEP_MS) return null
  return step.passwordMark === markPassword(user.passwordDigest ?? '') ? { step, user } : null
}

/**
 * Second step: a code of the authenticator or a recovery code. `step` is the signed result of the first step, valid for
 * five minutes, in the browser of the first step, and once. A passkey needs no first step.
 */
export async function signInWithCode(
  context: Context,
  account: HostAccount,
  given: { readonly step: string; readonly code: string },
  now: number,
  browser: Browser,
): Promise<SignInResult> {
  const passed = await verifyStep(context, account, given.step, browser)
  if (!passed) return { outcome: 'expired' }
  const { step, user } = passed
  const attempt = attemptOf(
    context,
    account,
    digestSecondStep(context.config.keys, account.id, user.id),
    user,
    browser,
    'code',
  )
  return withAttempt(context, attempt, async () => {
    const second = await spendCode(context, user, given.code, now)
    if (second === null) return { outcome: 'wrong' }
    if (!(await spendStep(context, step))) return { outcome: 'expired' }
    const how = `password and ${second}`
    return enter(context, account, user, browser, { how, secondFactor: true, proof: proofOf(user) })
  })
}

export async function signInWithPasskey(
  context: Context,
  account: HostAccount,
  answer: string,
  now: number,
  browser: Browser,
): Promise<SignInResult> {
  const proven = await provePasskey(context, account, answer, now, browser)
  if (proven.outcome !== 'proven') return proven
  const { passkey } = proven
  const user = await readSignInUser(context.db, account.id, passkey.userId)
  if (!user) return { outcome: 'wrong' }
  const proof = { passkeyId: passkey.id }
  return enter(context, account, user, browser, { how: 'passkey', secondFactor: true, proof })
}

function proofOf(user: SignInUser): Proof {
  return { passwordDigest: user.passwordDigest ?? '' }
}

async function enter(
  context: Context,
  account: HostAccount,
  user: SignInUser,
  browser: Browser,
  authenticated: Authenticated,
): Promise<SignInResult> {
  const { keys } = context.config
  const known = browser.known === null ? null : verifyBrowser(keys, browser.known, user.id)
  const signedIn = await context.db.transaction((tx) =>
    startSession(context, tx, { ...user, slug: account.slug }, browser, authenticated),
  )
  if (!signedIn) return { outcome: 'wrong' }
  return { ...signedIn, browser: signBrowser(keys, known ?? randomUUID(), user.id) }
}

function secondStep(context: Context, account: HostAccount, user: SignInUser, { mark }: Browser): SignInResult {
  const step = { userId: user.id, at: Math.floor(user.readAt), passwordMark: markPassword(user.passwordDigest ?? '') }
  return { outcome: 'second_step', step: signSecondStep(context.config.keys, step, account.slug, mark) }
}

function spendStep(context: Context, step: { readonly digest: Buffer; readonly at: number }): Promise<boolean> {
  return context.db.transaction((tx) => spendChallenge(tx, step.digest, step.at + SECOND_STEP_MS))
}
