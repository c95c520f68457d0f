/** Decision on the consent page. */
import type { DeviceCodeKey } from '../../store/device/codes.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { grantDeviceCode, rejectDeviceCode } from './decide.ts'
import { readDecision } from './read-decision.ts'

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
  address: string | null,
): Promise<PageDecisionResult> {
  if (given.decision !== 'allow') {
    const reported = given.decision === 'not_me'
    const by = { kind: 'page', sessionId: sessionUser.session.id, reported } as const
    const { outcome } = await rejectDeviceCode(context, sessionUser.id, key, by)
    if (outcome === 'not_open' || !reported) return DECIDED
    const view = await readDecision(context, sessionUser, key, address)
    const application = 'application' in view ? view.application : null
    return { outcome: 'reported', application, shared: 'shared' in view && view.shared }
  }
  const { shown, lastGroup } = given
  const by = { kind: 'page', shown, lastGroup, sessionId: sessionUser.session.id, address } as const
  const result = await grantDeviceCode(context, sessionUser.id, key, by)
  if (result.outcome === 'retype') return { outcome: 'retype' }
  // The page that was shown offered Allow, so the user has lost permissions since.
  const lost = result.outcome === 'prevented' && result.by === 'lacking'
  // Otherwise the decision's page shows the outcome, or asks the user to re-authenticate.
  return lost || result.outcome === 'changed' ? { outcome: 'changed' } : DECIDED
}
