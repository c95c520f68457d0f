/** The question that the dialog and /activate begin with: which account? */
import { type ChosenAccount, chooseAccount } from '../../flows/choose-account.ts'
import type { Context } from '../../flows/context.ts'
import { type ChooseAccountModel, chooseAccountPage } from '../../pages/choose-account.tsx'
import type { PageAnswer } from '../account/answer.ts'
import type { BaseRequest } from './routes.ts'
import { rememberAccount, rememberedAccounts } from './remembered-accounts.ts'

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

/** Where to go once the account is known, or the question again. */
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
  return { seeOther: addressAt(account), cookies: [rememberAccount(request, account.slug)] }
}

/** A button of an account that was chosen before, or the field. */
function readTyped({ fields }: BaseRequest): string {
  return fields.get('account') || (fields.get('typed') ?? '')
}
