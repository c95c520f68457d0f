/** Decision on the consent page. */
import type { DeviceCodeKey } from '../../store/device/codes.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { grantDeviceCode, rejectDeviceCode } from './decide.ts'
import { readDecision, type ViewRequest } from './read-decision.ts'

export type PageDecision =
  | { readonly decision: 'cancel' | 'not_me' }
  | {
      readonly decision: 'allow'
      /** The scopes as they were shown. */
      readonly shown: readonly string[]
      /** The last group of the user code, as typed. */
      readonly lastGroup: string
    }

export type PageDecisionResult =
  /** Also if the code was no longer open: the decision's page shows the outcome. */
  | { readonly outcome: 'decided' }
  | { readonly outcome: 'reported'; readonly application: string | null; readonly shared: boolean }
  /** Nothing was decided: the last group is wrong (`retype`), or the scopes differ from those shown (`changed`). */
  | { readonly outcome: 'retype' | 'changed' }

const DECIDED: PageDecisionResult = { outcome: 'decided' }

export async function decideOnPage(
  context: Context,
  sessionUser: SessionUser,
  key: DeviceCodeKey,
  given: PageDecision,
  viewRequest: ViewRequest,
): Promise<PageDecisionResult> {
  if (given.decision !== 'allow') {
    const reported = given.decision === 'not_me'
    const onPage = { sessionId: sessionUser.session.id, reported }
    const { outcome } = await rejectDeviceCode(context, sessionUser.id, key, onPage)
    if (outcome === 'not_open' || !reported) return DECIDED
    const view = await readDecision(context, sessionUser, key, viewRequest)
    const application = 'application' in view ? view.application : null
    return { outcome: 'reported', application, shared: 'shared' in view && view.shared }
  }
  const { shown, lastGroup } = given
  const onPage = { shown, lastGroup, sessionId: sessionUser.session.id, address: viewRequest.address }
  const { outcome } = await grantDeviceCode(context, sessionUser.id, key, onPage)
  if (outcome === 'retype') return { outcome }
  // A session that is no longer fresh: the decision's page asks the user to re-authenticate.
  return outcome === 'changed' || outcome === 'lacking' ? { outcome: 'changed' } : DECIDED
}
