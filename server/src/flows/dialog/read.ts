/** View of a dialog: the question before the decision, the status after it. Reads only. */
import { type Application, type LogoName, type Publisher, shownLogo } from '../../core/applications/application.ts'
import { type Dialog, dialogStatus } from '../../core/dialog/dialog.ts'
import { isRegisteredRedirect } from '../../core/dialog/redirect-uri.ts'
import { mayGrant } from '../../core/grants/granting.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readDialog } from '../../store/dialog/dialogs.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { type DescribedConsent, describeConsent } from '../grants/describe-consent.ts'
import { readFacts, readOnPage } from '../grants/granting-facts.ts'

/** What is known before sign-in: the requesting application, of a dialog that is still open. */
export type OpenQuestion = { readonly dialog: Dialog; readonly now: number; readonly application: Application }

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
  return status === 'open' ? { ...found, application } : { closed: 'answered' }
}

export type DialogQuestion = DescribedConsent & {
  readonly outcome: 'open'
  readonly application: string
  readonly publisher: Publisher
  readonly logo: LogoName | null
  readonly redirectUri: string
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
): Promise<DialogView> {
  const { db } = context
  const question = await readQuestion(context, dialogId)
  if ('closed' in question) return { outcome: question.closed }
  const { dialog, now } = question
  const request = { flow: 'dialog', ...dialog } as const
  const user = await readUser(db, sessionUser.id)
  const at = { userId: sessionUser.id, session: sessionUser.session, address: null, now }
  const by = await readOnPage(context, db, request, at, null)
  const facts = await readFacts(db, request, user, by, now)
  if (!facts) return { outcome: 'expired' }
  const { application } = facts
  const granting = mayGrant(facts)
  if (granting.outcome === 'gone') return { outcome: 'expired' }
  if (granting.outcome === 'barred') return { outcome: 'barred', application: application.name }
  if (granting.outcome === 'reauthenticate') return { outcome: 'stale_session' }
  return {
    outcome: 'open',
    application: application.name,
    publisher: application.publisher,
    logo: shownLogo(application),
    redirectUri: dialog.redirectUri,
    ...(await describeConsent(db, facts, granting)),
  }
}
