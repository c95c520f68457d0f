/** View of a dialog: the question before the decision, the status after it. Reads only. */
import { policyAllows } from '../../core/accounts/policy.ts'
import { type Application, type LogoName, type Publisher, shownLogo } from '../../core/applications/application.ts'
import type { VettingProblem } from '../../core/applications/vetting.ts'
import { type Dialog, dialogStatus } from '../../core/dialog/dialog.ts'
import { isRegisteredRedirect } from '../../core/dialog/redirect-uri.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readUnvetted } from '../../store/applications/vettings.ts'
import { readDialog } from '../../store/dialog/dialogs.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { type DescribedConsent, describeConsent } from '../grants/describe-consent.ts'
import { dialogApproval } from './approval.ts'

/** What is known before sign-in: the requesting application, of a dialog that is still open. */
export type OpenQuestion = { readonly dialog: Dialog; readonly application: Application }

export async function readQuestion(
  context: Context,
  dialogId: string,
): Promise<OpenQuestion | { readonly closed: 'expired' | 'answered' }> {
  const found = await readDialog(context.db, dialogId)
  const application = found && (await findApplication(context.db, found.dialog.applicationId))
  if (!found || !application || application.deleted) return { closed: 'expired' }
  // The redirect URI was unregistered meanwhile: never redirect to it.
  if (!isRegisteredRedirect(application.redirectUris, found.dialog.redirectUri)) return { closed: 'expired' }
  const status = dialogStatus(found.dialog, found.now)
  if (status === 'expired') return { closed: 'expired' }
  return status === 'open' ? { dialog: found.dialog, application } : { closed: 'answered' }
}

export type DialogQuestion = DescribedConsent & {
  readonly outcome: 'open'
  readonly application: string
  readonly publisher: Publisher
  readonly logo: LogoName | null
  readonly redirectUri: string
  readonly suspended: boolean
  /** Why it cannot be granted before an operator has looked at it. */
  readonly unvetted: VettingProblem | null
}

export type DialogView =
  | DialogQuestion
  | { readonly outcome: 'expired' | 'answered' }
  /** The account's policy does not allow this application. */
  | { readonly outcome: 'barred'; readonly application: string }
  /** A dangerous scope: the user must re-authenticate first. */
  | { readonly outcome: 'stale_session' }

export async function readDialogView(
  context: Context,
  sessionUser: SessionUser,
  dialogId: string,
  now: number,
): Promise<DialogView> {
  const question = await readQuestion(context, dialogId)
  if ('closed' in question) return { outcome: question.closed }
  const { dialog, application } = question
  const user = await readUser(context.db, sessionUser.id)
  const account = user && (await readAccount(context.db, user.accountId))
  if (!user || !account) return { outcome: 'expired' }
  if (!policyAllows(account.policy, application)) return { outcome: 'barred', application: application.name }
  const consent = await describeConsent(context.db, user, dialog.scopes, application)
  const { authenticatedAt } = sessionUser.session
  const unvetted = await readUnvetted(context.db, application.id, user)
  const approval = dialogApproval(context, consent.can, unvetted, authenticatedAt, now)
  if (approval === 'reauthenticate') return { outcome: 'stale_session' }
  return {
    outcome: 'open',
    application: application.name,
    publisher: application.publisher,
    logo: shownLogo(application),
    redirectUri: dialog.redirectUri,
    suspended: application.suspended,
    unvetted: approval === 'ok' || approval === 'retype' ? null : approval,
    ...consent,
  }
}
