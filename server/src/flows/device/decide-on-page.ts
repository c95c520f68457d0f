/** Decision on the consent page: the checks beyond those of grantDeviceCode and rejectDeviceCode. */
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

/** Compares digits only: accepts any script and spacing. */
function isLastGroup(userCode: string, typed: string): boolean {
  const digits = Array.from(typed.normalize('NFKC'), asciiDigit).filter((digit) => digit !== null)
  return digits.join('') === (userCode.split(' ').at(-1) ?? '')
}
