/** The answer to the consent page: what has to hold beside what grantDeviceCode and rejectDeviceCode look at themselves. */
import { asciiDigit } from '../../core/device/user-code.ts'
import type { DeviceCodeKey } from '../../store/device/codes.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { grantDeviceCode, rejectDeviceCode } from './decide.ts'
import { type Asking, readDecision } from './read-decision.ts'

export type PageDecision =
  | { readonly decision: 'cancel' | 'not_me' }
  | {
      readonly decision: 'allow'
      /** The scopes as they were shown. */
      readonly shown: readonly string[]
      /** As it was typed. */
      readonly lastGroup: string
    }

export type PageDecisionResult =
  /** Whatever it was, the page of the decision says what became of it. */
  | { readonly outcome: 'decided' }
  | { readonly outcome: 'reported'; readonly application: string | null; readonly shared: boolean }
  /** Nothing was decided: the last group was not typed right, or what would be granted is not what was shown. */
  | { readonly outcome: 'retype' | 'changed' }

const DECIDED: PageDecisionResult = { outcome: 'decided' }

export async function decideOnPage(
  context: Context,
  sessionUser: SessionUser,
  key: DeviceCodeKey,
  given: PageDecision,
  asking: Asking,
): Promise<PageDecisionResult> {
  if (given.decision !== 'allow') {
    const reported = given.decision === 'not_me'
    const onPage = { sessionId: sessionUser.session.id, reported }
    const { outcome } = await rejectDeviceCode(context, sessionUser.id, key, onPage)
    if (outcome === 'not_open' || !reported) return DECIDED
    const view = await readDecision(context, sessionUser, key, asking)
    const application = 'application' in view ? view.application : null
    return { outcome: 'reported', application, shared: 'shared' in view && view.shared }
  }
  const view = await readDecision(context, sessionUser, key, asking)
  if (view.outcome !== 'open') return DECIDED
  if (view.retype && !isLastGroup(view.userCode, given.lastGroup)) return { outcome: 'retype' }
  const { outcome } = await grantDeviceCode(context, sessionUser.id, key, {
    shown: given.shown,
    sessionId: sessionUser.session.id,
  })
  return outcome === 'changed' || outcome === 'lacking' ? { outcome: 'changed' } : DECIDED
}

/** The last group of digits, typed again in any script and spacing. */
function isLastGroup(userCode: string, typed: string): boolean {
  const digits = Array.from(typed.normalize('NFKC'), asciiDigit).filter((digit) => digit !== null)
  return digits.join('') === (userCode.split(' ').at(-1) ?? '')
}
