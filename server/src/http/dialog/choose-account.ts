/** Account question, the first step of the dialog and of /activate. */

import type { Context } from '../../flows/context.ts'
import { type ChosenAccount, chooseAccount } from '../../flows/dialog/choose-account.ts'
import { type ChooseAccountModel, chooseAccountPage } from '../../pages/dialog/choose-account.tsx'
import { continuePage } from '../../pages/dialog/continue.tsx'
import { rememberAccount, rememberedAccounts } from '../sign-in/remembered-accounts.ts'
import type { BaseRequest, PageAnswer } from '../web/answer.ts'

export function askForAccount(
  context: Context,
  request: BaseRequest,
  purpose: ChooseAccountModel['purpose'],
  problem: ChooseAccountModel['problem'] = null,
): PageAnswer {
  const typed = problem === null ? '' : readTyped(request).slice(0, 100)
  const suffix = `.${new URL(context.config.publicUrl).host}`
  const known = rememberedAccounts(context, request)
  const model: ChooseAccountModel = { purpose, known, suffix, typed, problem }
  return { page: chooseAccountPage(request.frame, model), status: problem === null ? 200 : 400 }
}

/** The account, if this browser has used exactly one and it still exists. */
export async function onlyRememberedAccount(context: Context, request: BaseRequest): Promise<ChosenAccount | null> {
  const [known, ...others] = rememberedAccounts(context, request)
  const account = known && others.length === 0 ? await chooseAccount(context, known.slug) : null
  return account?.exists ? account : null
}

/** Leads to the chosen account, or shows the question again. */
export async function goToAccount(
  context: Context,
  request: BaseRequest,
  purpose: ChooseAccountModel['purpose'],
  addressAt: (account: ChosenAccount) => string,
): Promise<PageAnswer> {
  const typed = readTyped(request)
  if (typed.trim() === '') return askForAccount(context, request, purpose, 'empty')
  const account = await chooseAccount(context, typed)
  if (!account) return askForAccount(context, request, purpose, 'unknown')
  // A name that may be a typo is not remembered: it would be offered at every later visit.
  const cookies = account.exists ? [rememberAccount(request, account.slug)] : []
  return { ...goOn(context, request, addressAt(account)), cookies }
}

/**
 * With a host service, a page that goes on by itself: `form-action` of the Content-Security-Policy covers all redirects
 * after a form, and the account redirects to the host service, which may redirect anywhere.
 */
function goOn({ hostService }: Context, { frame }: BaseRequest, address: string): PageAnswer {
  return hostService ? { page: continuePage(frame, address), continueAt: address } : { seeOther: address }
}

/** The account of a button for one chosen before, or else the text field. */
function readTyped({ fields }: BaseRequest): string {
  return fields.get('account') || (fields.get('typed') ?? '')
}
