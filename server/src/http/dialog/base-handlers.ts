/**
 * Handlers of the dialog on the base host: check and store the application's parameters, ask the user for the account,
 * redirect the browser to that account's host. docs/interface/dialog.md, and
 * docs/decisions/0015-a-dialog-stays-in-its-browser.md.
 */
import { redirectHost, withResponseParameters } from '../../core/dialog/redirect-uri.ts'
import { echoed } from '../../core/echoed.ts'
import { accountOrigin } from '../../flows/accounts/address.ts'
import type { Context } from '../../flows/context.ts'
import { type DialogRefusal, openDialog, openPushed, pushedReference } from '../../flows/dialog/open.ts'
import { type OpenQuestion, readQuestion } from '../../flows/dialog/read.ts'
import { type DialogProblemModel, dialogProblemPage } from '../../pages/dialog/problem.tsx'
import {
  createBrowserMark,
  isBrowserMark,
  signAccountReference,
  signDialogReference,
  verifyDialogReference,
} from '../../secrets/dialog-texts.ts'
import { tooBusy, tooManyRequests } from '../too-much.ts'
import type { BaseHandler, BaseRequest, PageAnswer } from '../web/answer.ts'
import { DIALOG, DIALOG_SECONDS, setCookie } from '../web/cookies.ts'
import { askForAccount, goToAccount } from './choose-account.ts'
import { readDialogRequest } from './dialog-request.ts'

/** Opens a dialog. From here on the browser carries a signed reference, valid only with this browser's cookie. */
export const authorize: BaseHandler = async (context, request) => {
  const mark = markOf(request) ?? createBrowserMark()
  const result = await open(context, request, mark)
  if (result.outcome !== 'opened') return refused(context, request, result)
  const text = signDialogReference(context.config.keys, result.dialogId, mark)
  return { seeOther: `/dialog?request=${text}`, cookies: [setCookie(DIALOG, mark, DIALOG_SECONDS)] }
}

/**
 * Opens a dialog from a form on another site's page. Browsers send no SameSite=Lax cookies with such a POST, so setting
 * the mark here would overwrite that of a dialog open in another tab. They do send them with the redirect that follows.
 */
export const authorizeByForm: BaseHandler = async (context, request) => {
  const { fields, address } = request
  const applicationId = fields.get('client_id') ?? ''
  const pushed = fields.get('request_uri')
  if (pushed) return openByRedirect(applicationId, pushed)
  const result = await openDialog(context, readDialogRequest(applicationId, fields, address))
  if (result.outcome !== 'opened') return refused(context, request, result)
  return openByRedirect(applicationId, pushedReference(context, result.dialogId, applicationId))
}

function openByRedirect(applicationId: string, reference: string): PageAnswer {
  return { seeOther: `/oauth/authorize?${new URLSearchParams({ client_id: applicationId, request_uri: reference })}` }
}

type Opening = Awaited<ReturnType<typeof openDialog>> | Awaited<ReturnType<typeof openPushed>>

function open(context: Context, { fields, address }: BaseRequest, mark: string): Promise<Opening> {
  const applicationId = fields.get('client_id') ?? ''
  const reference = fields.get('request_uri')
  return reference
    ? openPushed(context, applicationId, reference, mark)
    : openDialog(context, readDialogRequest(applicationId, fields, address))
}

const MAX_ECHOED = 200

function refused(
  context: Context,
  request: BaseRequest,
  result: Exclude<Opening, { readonly outcome: 'opened' }>,
): PageAnswer {
  switch (result.outcome) {
    case 'refused':
      return problem(request, 'bad_request', result.application.name, {
        detail: `${result.error}: ${result.reason}`,
        returnTo: { href: returnAddress(context, result), host: redirectHost(result.redirectUri) },
      })
    case 'malformed': {
      const detail = `invalid_request: ${result.reason}`
      return problem(request, 'bad_request', result.application?.name ?? null, { detail })
    }
    case 'redirect_not_registered': {
      const received = echoed(request.fields.get('redirect_uri') ?? '', MAX_ECHOED)
      const detail = `invalid_request: The redirect_uri is not registered for this application: ${received}`
      return problem(request, result.outcome, result.application.name, { detail })
    }
    case 'unknown_application': {
      const received = echoed(request.fields.get('client_id') ?? '', MAX_ECHOED)
      return problem(request, result.outcome, null, {
        detail: `invalid_request: The client_id is unknown: ${received}`,
      })
    }
    case 'too_many_requests': {
      const { retryAfterSeconds } = tooManyRequests(result.waitMs)
      return { ...problem(request, 'too_many', null), status: 429, retryAfterSeconds }
    }
    case 'shed':
      return tooBusy()
    case 'expired':
      return problem(request, result.outcome, null)
    default:
      return problem(request, result.outcome, result.application.name)
  }
}

function returnAddress(context: Context, { redirectUri, state, error, reason }: DialogRefusal): string {
  const told = { error, error_description: reason, ...(state === null ? {} : { state }) }
  return withResponseParameters(redirectUri, { ...told, iss: context.config.publicUrl })
}

export const showDialog: BaseHandler = async (context, request) => {
  const question = await questionOf(context, request)
  return 'answer' in question ? question.answer : askForAccount(context, request, purposeOf(request, question))
}

export const chooseForDialog: BaseHandler = async (context, request) => {
  const question = await questionOf(context, request)
  if ('answer' in question) return question.answer
  const text = request.fields.get('request') ?? ''
  const enter = ({ origin }: { origin: string }) => `${origin}/dialog/enter?request=${encodeURIComponent(text)}`
  return goToAccount(context, request, purposeOf(request, question), enter)
}

/** Target of the redirect from /dialog/enter. Issues the account host's reference only to the browser that began. */
export const passOn: BaseHandler = async (context, request) => {
  const { fields } = request
  const [slug, browserDigest] = [fields.get('account') ?? '', fields.get('browser') ?? '']
  const dialogId = dialogIdOf(context, request)
  if (dialogId === null || !/^[a-z0-9-]{1,63}$/.test(slug) || !/^[A-Za-z0-9_-]{43}$/.test(browserDigest)) {
    return problem(request, 'other_browser', null)
  }
  const text = signAccountReference(context.config.keys, dialogId, slug, browserDigest)
  return { seeOther: `${accountOrigin(context, slug)}/dialog?request=${text}` }
}

async function questionOf(context: Context, request: BaseRequest): Promise<OpenQuestion | { answer: PageAnswer }> {
  const dialogId = dialogIdOf(context, request)
  if (dialogId === null) return { answer: problem(request, 'other_browser', null) }
  const question = await readQuestion(context, dialogId)
  return 'closed' in question ? { answer: problem(request, question.closed, null) } : question
}

function dialogIdOf(context: Context, request: BaseRequest): string | null {
  const mark = markOf(request)
  return mark === null ? null : verifyDialogReference(context.config.keys, request.fields.get('request') ?? '', mark)
}

function markOf(request: BaseRequest): string | null {
  const mark = request.cookie(DIALOG)
  return mark !== null && isBrowserMark(mark) ? mark : null
}

function purposeOf({ fields }: BaseRequest, { application }: OpenQuestion) {
  return { kind: 'dialog', application: application.name, request: fields.get('request') ?? '' } as const
}

function problem(
  { frame }: BaseRequest,
  what: DialogProblemModel['problem'],
  application: string | null,
  more: Partial<DialogProblemModel> = {},
): Extract<PageAnswer, { page: unknown }> {
  const model = { problem: what, application, detail: null, returnTo: null, ...more }
  return { page: dialogProblemPage(frame, model), status: 400 }
}
