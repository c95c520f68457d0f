/** Preview of the consent page for the developer of an application, without a request. Reads only. */
import { deviceFlowPolicy } from '../../core/applications/application.ts'
import { resolveRequested } from '../../core/grants/scope.ts'
import { readUser } from '../../store/accounts/users.ts'
import { type OwnApplication, readOwnApplication } from '../../store/applications/own.ts'
import type { Context } from '../context.ts'
import { type DescribedConsent, describeConsent } from './describe-consent.ts'

/** Null if the application does not belong to this account. */
export async function previewConsent(
  context: Context,
  accountId: string,
  userId: string,
  applicationId: string,
  by: 'code' | 'dialog',
): Promise<{ readonly application: OwnApplication; readonly consent: DescribedConsent } | null> {
  const application = await readOwnApplication(context.db, accountId, applicationId)
  const user = await readUser(context.db, userId)
  if (!application || !user) return null
  const policy = by === 'code' ? deviceFlowPolicy(application) : application
  const requested = resolveRequested(null, policy)
  const scopes = requested.answer === 'scopes' ? requested.scopes : []
  return { application, consent: await describeConsent(context.db, user, scopes, policy) }
}
