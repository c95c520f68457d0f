/** Handlers for users who sign in at the account's identity provider: the way there, the way back, and logout. */
import type { ProviderSignInProblem } from '../../core/provider/provider.ts'
import { logOutByProvider } from '../../flows/provider/logout.ts'
import { beginProviderSignIn, finishProviderSignIn, PROVIDER_SIGN_IN_MS } from '../../flows/provider/sign-in.ts'
import { recentSeconds } from '../../flows/sign-in/hand-over.ts'
import { signOut } from '../../flows/sign-in/sessions.ts'
import { providerRefusedPage } from '../../pages/provider/refused.tsx'
import { sessionCookies } from '../sign-in/session-cookies.ts'
import type { PageAnswer, PageHandler, PageRequest } from '../web/answer.ts'
import { clearCookie, DIALOG, DIALOG_SECONDS, PROVIDER, setCookie } from '../web/cookies.ts'
import { providerHost } from '../web/frame.ts'
import { nextPath } from '../web/next-path.ts'

/** A link leads here, never a form: `form-action` of the Content-Security-Policy covers redirects. */
export const goToProvider: PageHandler<PageRequest> = async (context, request) => {
  const { account, fields, now, browser } = request
  const next = nextPath(fields.get('next'))
  const wish = {
    next,
    maxAgeSeconds: fields.has('recent') ? recentSeconds(context) : null,
    anew: fields.has('anew'),
    link: fields.get('link') ?? null,
  }
  const begun = await beginProviderSignIn(context, account, wish, now, browser)
  if (begun.outcome === 'not_found') return { refusal: 'not_found' }
  if (begun.outcome === 'failed') return refused(request, 'unavailable', next)
  return {
    seeOther: begun.address,
    cookies: [
      setCookie(PROVIDER, begun.transaction, PROVIDER_SIGN_IN_MS / 1000),
      // The transaction is bound to it.
      setCookie(DIALOG, browser.mark, DIALOG_SECONDS),
    ],
  }
}

export const returnFromProvider: PageHandler<PageRequest> = async (context, request) => {
  const { account, sessionUser, fields, browser, now } = request
  const answer = { fields, transaction: browser.providerSignIn ?? '' }
  const result = await finishProviderSignIn(context, account, answer, now, browser)
  if (result.outcome === 'not_found') return { refusal: 'not_found' }
  if (result.outcome === 'refused') return refused(request, result.problem, result.next)
  if (sessionUser) await signOut(context, account.id, sessionUser)
  const { next } = result
  return { seeOther: next, next, cookies: [...sessionCookies(context, result), clearCookie(PROVIDER)] }
}

const EMPTY = { bytes: Buffer.alloc(0), type: 'text/plain', lasting: false } as const

/** Back-channel logout: called by the identity provider, not by a browser. */
export const logOutHere: PageHandler<PageRequest> = async (context, { account, fields, now }) => {
  const { outcome } = await logOutByProvider(context, account, fields.get('logout_token') ?? '', now)
  if (outcome === 'done') return EMPTY
  return { refusal: outcome === 'invalid' ? 'invalid_request' : outcome }
}

function refused({ account, frame }: PageRequest, problem: ProviderSignInProblem, next: string): PageAnswer {
  const host = providerHost(account) ?? ''
  return {
    page: providerRefusedPage(frame, { problem, next, host }),
    status: problem === 'unavailable' ? 503 : problem === 'busy' ? 429 : 403,
    next,
    cookies: [clearCookie(PROVIDER)],
  }
}
