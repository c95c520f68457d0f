/** Handlers for signing in and out. docs/interface/account-pages.md, "The account's pages". */
import type { Context } from '../../flows/context.ts'
import { hostOf } from '../../flows/sign-in/hand-over.ts'
import { hasProvider } from '../../flows/sign-in/origin.ts'
import { passkeyRequest, type Refused } from '../../flows/sign-in/prove.ts'
import { readSession, signOut } from '../../flows/sign-in/sessions.ts'
import {
  readSecondStep,
  SECOND_STEP_MS,
  type SignInResult,
  signInWithCode,
  signInWithPasskey,
  signInWithPassword,
} from '../../flows/sign-in/sign-in.ts'
import { type CodeWithPasskeyModel, codeWithPasskeyPage } from '../../pages/device/code-with-passkey.tsx'
import { checkMailPage } from '../../pages/sign-in/check-mail.tsx'
import { type SecondStepModel, secondStepPage } from '../../pages/sign-in/second-step.tsx'
import { type SignInModel, signInPage } from '../../pages/sign-in/sign-in.tsx'
import { otherAccountAddress } from '../device/activate-routes.ts'
import { enterTypedCode } from '../device/code-handlers.ts'
import type { PageAnswer, PageHandler, PageRequest, UserRequest } from '../web/answer.ts'
import { clearCookie, DIALOG, DIALOG_SECONDS, PASSKEY, SESSION, STEP, setCookie } from '../web/cookies.ts'
import { providerHost, userFrame } from '../web/frame.ts'
import { nextPath } from '../web/next-path.ts'
import { goToHost } from './hand-over-handlers.ts'
import { BROWSER_SECONDS, sessionCookies } from './session-cookies.ts'

const NOTICES: readonly SignInModel['notice'][] = ['signed_out', 'switched']

export const showSignIn: PageHandler<PageRequest> = async (context, request) => {
  const next = nextPath(request.fields.get('next'))
  if (request.sessionUser) return { seeOther: next }
  const host = hostOf(context, request.account)
  if (host) return goToHost(context, request, host, next)
  const notice = NOTICES.find((each) => each === request.fields.get('notice')) ?? null
  if (
    next === CODE_ENTRY &&
    request.browser.hasPasskey &&
    request.account.provider !== 'required' &&
    notice === null &&
    !request.fields.has('another')
  ) {
    return { page: codeWithPasskey(context, request, null) }
  }
  return signInAgain(context, request, { notice, ...waysIn(context, request, next, notice) })
}

/** With a required provider, the form is on a page of its own, for the administrators who may do without. */
function waysIn(
  context: Context,
  { account, fields }: PageRequest,
  next: string,
  notice: SignInModel['notice'],
): Pick<SignInModel, 'provider' | 'ownAt'> {
  const host = hasProvider(context, account) ? providerHost(account) : null
  if (host === null) return { provider: null, ownAt: null }
  const query = `next=${encodeURIComponent(next)}`
  const own = account.provider !== 'required' || fields.has('own')
  return {
    provider: { host, href: `/sign-in/provider?${query}${notice === 'switched' ? '&anew=1' : ''}` },
    ownAt: own ? null : `/sign-in?${query}&own=1`,
  }
}

export const signInByPassword: PageHandler<PageRequest> = async (context, request) => {
  const { account, fields, browser, frame } = request
  const given = { email: fields.get('email') ?? '', password: fields.get('password') ?? '' }
  const result = await signInWithPassword(context, account, given, browser)
  if (result.outcome !== 'confirm') return signedIn(context, request, result)
  const model = { email: given.email.trim(), next: nextPath(fields.get('next')) }
  return { page: checkMailPage(frame, model), afterwards: result.afterwards }
}

export const signInByPasskey: PageHandler<PageRequest> = async (context, request) => {
  const { account, fields, browser, now } = request
  const result = await signInWithPasskey(context, account, fields.get('answer') ?? '', now, browser)
  if (result.outcome === 'wrong') return signInAgain(context, request, { problem: 'passkey' })
  const answer = await signedIn(context, request, result)
  return result.outcome === 'signed_in' ? rememberPasskey(answer) : answer
}

/** Adds the cookie by which the page for codes asks for the passkey at once. */
export function rememberPasskey(answer: PageAnswer): PageAnswer {
  return { ...answer, cookies: [...(answer.cookies ?? []), setCookie(PASSKEY, 'used', BROWSER_SECONDS)] }
}

const CODE_ENTRY = '/connect/code'

/** Page that takes the user code and signs in by passkey, for a browser that has one: one page instead of two. */
function codeWithPasskey(
  context: Context,
  { account, frame, fields, now }: PageRequest,
  problem: CodeWithPasskeyModel['problem'],
): string {
  const typed = problem === null ? '' : (fields.get('code') ?? '').slice(0, 60)
  return codeWithPasskeyPage(frame, { typed, problem, passkey: passkeyRequest(context, account, now) })
}

/** Signs in and enters the code. Without a session the form cannot be signed; the passkey's challenge takes its place. */
export const enterCodeByPasskey: PageHandler<PageRequest> = async (context, request) => {
  const { account, fields, browser, frame, now } = request
  const result = await signInWithPasskey(context, account, fields.get('answer') ?? '', now, browser)
  if (result.outcome === 'wrong') return { page: codeWithPasskey(context, request, 'passkey'), status: 400 }
  const answer = await signedIn(context, request, result, CODE_ENTRY)
  const session = result.outcome === 'signed_in' ? await readSession(context, account.slug, result.cookie) : null
  if (!session?.sessionUser) return answer
  const { sessionUser } = session
  const signedInFrame = { ...frame, ...userFrame(context, session, sessionUser) }
  const entered = await enterTypedCode(context, { ...request, ...session, sessionUser, frame: signedInFrame })
  return rememberPasskey({ ...entered, cookies: [...(answer.cookies ?? []), ...(entered.cookies ?? [])] })
}

export const showSecondStep: PageHandler<PageRequest> = async (context, request) => {
  if (request.sessionUser) return { seeOther: nextPath(request.fields.get('next')) }
  return askForSecondStep(context, request, null, 0)
}

async function askForSecondStep(
  context: Context,
  request: PageRequest,
  problem: SecondStepModel['problem'],
  minutes: number,
): Promise<{ page: string; status: 200 | 400 }> {
  const { account, browser, fields, frame, now } = request
  const offered = await readSecondStep(context, account, browser.step ?? '', browser)
  if (!offered) return signInAgain(context, request, { problem: 'expired' })
  const passkey = offered.passkey ? passkeyRequest(context, account, now) : null
  const model = { next: nextPath(fields.get('next')), problem, minutes, authenticator: offered.authenticator, passkey }
  return { page: secondStepPage(frame, model), status: problem === null ? 200 : 400 }
}

export const signInByCode: PageHandler<PageRequest> = (context, request) => secondStep(context, request, 'wrong')

export const signInByRecoveryCode: PageHandler<PageRequest> = (context, request) =>
  secondStep(context, request, 'recovery')

async function secondStep(context: Context, request: PageRequest, wrong: 'wrong' | 'recovery'): Promise<PageAnswer> {
  const { account, fields, browser, now } = request
  const given = { step: browser.step ?? '', code: fields.get('code') ?? '' }
  const result = await signInWithCode(context, account, given, now, browser)
  if (result.outcome === 'wrong' || result.outcome === 'locked') {
    const problem = result.outcome === 'wrong' ? wrong : result.outcome
    const asked = await askForSecondStep(context, request, problem, minutesOf(result))
    return { ...asked, ...refusedWith(result) }
  }
  return signedIn(context, request, result)
}

export const leave: PageHandler<UserRequest> = async (context, { account, sessionUser }) => {
  await signOut(context, account.id, sessionUser)
  return { seeOther: '/sign-in?notice=signed_out', cookies: [clearCookie(SESSION)] }
}

/** Last step of every sign-in method. Ends the browser's previous session, if any. */
export async function signedIn(
  context: Context,
  request: PageRequest,
  result: SignInResult,
  next = nextPath(request.fields.get('next')),
): Promise<PageAnswer> {
  if (result.outcome === 'second_step') {
    return {
      seeOther: `/sign-in/code?next=${encodeURIComponent(next)}`,
      cookies: [
        setCookie(STEP, result.step, SECOND_STEP_MS / 1000),
        setCookie(DIALOG, request.browser.mark, DIALOG_SECONDS),
      ],
    }
  }
  if (result.outcome !== 'signed_in') {
    const model = { problem: result.outcome, minutes: minutesOf(result) }
    return { ...signInAgain(context, request, model), ...refusedWith(result) }
  }
  if (request.sessionUser) await signOut(context, request.account.id, request.sessionUser)
  return {
    seeOther: next,
    cookies: [...sessionCookies(context, result), ...(request.browser.step === null ? [] : [clearCookie(STEP)])],
  }
}

function signInAgain(
  context: Context,
  { account, fields, frame, now }: PageRequest,
  about: Partial<SignInModel>,
): { page: string; status: 200 | 400 } {
  const next = nextPath(fields.get('next'))
  const model: SignInModel = {
    email: fields.get('email') ?? '',
    next,
    otherAccount: next === CODE_ENTRY ? otherAccountAddress(context) : null,
    problem: null,
    minutes: 0,
    notice: null,
    passkey: passkeyRequest(context, account, now),
    provider: null,
    ownAt: null,
    ...about,
  }
  return { page: signInPage(frame, model), status: model.problem === null ? 200 : 400 }
}

export function minutesOf(refused: Refused): number {
  return refused.outcome === 'locked' ? Math.ceil(refused.waitMs / 60_000) : 0
}

/** Status and Retry-After of a refused sign-in. */
export function refusedWith(refused: Refused): { status: 400 | 429 | 503; retryAfterSeconds?: number } {
  if (refused.outcome === 'locked') return { status: 429, retryAfterSeconds: Math.ceil(refused.waitMs / 1000) }
  return { status: refused.outcome === 'busy' ? 503 : 400 }
}
