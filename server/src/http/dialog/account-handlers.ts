/**
 * Handlers of the dialog on the account's host: show the consent page, take the decision, redirect back to the
 * application. docs/interface/dialog.md.
 */
import { redirectHost, redirectOrigin, withResponseParameters } from '../../core/dialog/redirect-uri.ts'
import type { Context } from '../../flows/context.ts'
import { type DialogAnswer, type DialogDecision, decideDialog } from '../../flows/dialog/decide.ts'
import { type DialogQuestion, readDialogView } from '../../flows/dialog/read.ts'
import { signOut } from '../../flows/sign-in/sessions.ts'
import { type DialogConsentModel, dialogConsentPage } from '../../pages/dialog/consent.tsx'
import { type DialogProblemModel, dialogProblemPage } from '../../pages/dialog/problem.tsx'
import { digestBrowserMark, verifyAccountReference } from '../../secrets/dialog-texts.ts'
import { logoAddress } from '../applications/logo.ts'
import { accessLifetimes } from '../grants/access-lifetimes.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, PageRequest, UserRequest } from '../web/answer.ts'
import { clearCookie, DIALOG, DIALOG_SECONDS, SESSION, setCookie } from '../web/cookies.ts'

/**
 * First request of a dialog on this host: sets a browser mark here, too, and redirects back to the base host, where the
 * browser proves that it is the one that began the dialog.
 */
export const enterDialog: PageHandler<PageRequest> = async (context, { account, fields, browser }) => {
  const query = new URLSearchParams({
    request: fields.get('request') ?? '',
    account: account.slug,
    browser: digestBrowserMark(browser.mark),
  })
  return {
    seeOther: `${context.config.publicUrl}/dialog/pass?${query}`,
    cookies: [setCookie(DIALOG, browser.mark, DIALOG_SECONDS)],
  }
}

export const showDialogQuestion: PageHandler<UserRequest> = (context, request) => questionPage(context, request, null)

export const answerDialog: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields, browser } = request
  const dialogId = dialogIdOf(context, request)
  if (dialogId === null) return problem(request, 'other_browser')
  const answer = readAnswer(fields, browser.address)
  if (!answer) return { refusal: 'invalid_request' }
  const result = await decideDialog(context, sessionUser, dialogId, answer)
  switch (result.outcome) {
    case 'allowed':
    case 'denied':
      return { seeOther: returnAddress(context, result) }
    case 'reauthenticate':
      return { seeOther: confirmFirst(fields) }
    case 'changed':
      return questionPage(context, request, 'changed')
    case 'prevented':
      // The page that was shown offered Allow, so the user has lost permissions since.
      return questionPage(context, request, result.by === 'lacking' ? 'changed' : null)
    default:
      return questionPage(context, request, null)
  }
}

/** Signs out, so that another user can sign in and answer the same request. */
export const switchInDialog: PageHandler<UserRequest> = async (context, { account, sessionUser, fields }) => {
  await signOut(context, account.id, sessionUser)
  const next = encodeURIComponent(dialogAddress(fields))
  return { seeOther: `/sign-in?notice=switched&next=${next}`, cookies: [clearCookie(SESSION)] }
}

/** The redirect of RFC 6749, section 4.1.2, with the issuer (RFC 9207). `state` is returned only if it was sent. */
function returnAddress(context: Context, result: Extract<DialogDecision, { redirectUri: string }>): string {
  const { redirectUri, state } = result
  return withResponseParameters(redirectUri, {
    ...(result.outcome === 'allowed' ? { code: result.code } : { error: 'access_denied' }),
    ...(state === null ? {} : { state }),
    iss: context.config.publicUrl,
  })
}

function readAnswer(fields: FormFields, address: string | null): DialogAnswer | null {
  const decision = fields.get('decision')
  if (decision === 'cancel') return { decision }
  if (decision !== 'allow') return null
  return { decision, shown: (fields.get('shown') ?? '').split(',').filter((name) => name !== ''), address }
}

async function questionPage(
  context: Context,
  request: UserRequest,
  wrong: DialogConsentModel['problem'],
): Promise<PageAnswer> {
  const { sessionUser, fields, frame } = request
  const dialogId = dialogIdOf(context, request)
  if (dialogId === null) return problem(request, 'other_browser')
  const view = await readDialogView(context, sessionUser, dialogId)
  switch (view.outcome) {
    case 'stale_session':
      return { seeOther: confirmFirst(fields) }
    case 'barred':
      return problem(request, 'barred', view.application)
    case 'open': {
      const model = consentModel(context, fields, view, wrong)
      const page = dialogConsentPage(frame, model)
      return { page, status: wrong === null ? 200 : 400, formTarget: formTarget(view.redirectUri) }
    }
    default:
      return problem(request, view.outcome)
  }
}

function consentModel(
  context: Context,
  fields: FormFields,
  view: DialogQuestion,
  wrong: DialogConsentModel['problem'],
): DialogConsentModel {
  const { redirectUri, outcome: _, ...rest } = view
  return {
    ...rest,
    logo: logoAddress(view.logo),
    request: fields.get('request') ?? '',
    shown: view.can.map(({ name }) => name).join(','),
    returnTo: redirectHost(redirectUri),
    ...accessLifetimes(context.config),
    problem: wrong,
  }
}

/**
 * The origin that CSP `form-action` must allow for the redirect. CSP cannot express an IPv6 address (CSP 3, section
 * 2.3.1), so in that case the whole scheme is allowed.
 */
function formTarget(redirectUri: string): string {
  const origin = redirectOrigin(redirectUri)
  return origin.includes('[') ? 'http:' : origin
}

function dialogIdOf(context: Context, { account, fields, browser }: PageRequest): string | null {
  const text = fields.get('request') ?? ''
  return verifyAccountReference(context.config.keys, text, account.slug, digestBrowserMark(browser.mark))
}

function dialogAddress(fields: FormFields): string {
  return `/dialog?request=${encodeURIComponent(fields.get('request') ?? '')}`
}

function confirmFirst(fields: FormFields): string {
  return `/confirm?next=${encodeURIComponent(dialogAddress(fields))}`
}

function problem(
  { frame }: PageRequest,
  what: DialogProblemModel['problem'],
  application: string | null = null,
): PageAnswer {
  return { page: dialogProblemPage(frame, { problem: what, application, detail: null, returnTo: null }), status: 400 }
}
