/** Preview of the consent page for the developer of an application, without a request. Reads only. */
import { deviceFlowPolicy } from '../../core/applications/application.ts'
import { mayGrant } from '../../core/grants/granting.ts'
import { resolveRequested } from '../../core/grants/scope.ts'
import { readUser } from '../../store/accounts/users.ts'
import { type OwnApplication, readOwnApplication } from '../../store/applications/own.ts'
import type { Context } from '../context.ts'
import { type DescribedConsent, describeConsent } from './describe-consent.ts'
import { type GrantRequest, readFacts } from './granting-facts.ts'

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
  if (!application) return null
  const policy = by === 'code' ? deviceFlowPolicy(application) : application
  const asked = resolveRequested(null, policy)
  const requested = { applicationId, scopes: asked.answer === 'scopes' ? asked.scopes : [] }
  const request: GrantRequest =
    by === 'code'
      ? { flow: 'device', variant: 'token_set', requestedFrom: null, takenFrom: null, ...requested }
      : { flow: 'dialog', ...requested }
  const facts = await readFacts(context.db, request, user, { kind: 'preview' }, context.applications.now())
  const granting = facts && mayGrant(facts)
  if (!granting || granting.outcome === 'gone' || granting.outcome === 'barred') return null
  return { application, consent: await describeConsent(context.db, facts, granting) }
}
