/** View of a device code for its consent page, before and after the decision. Reads only. */

import { mayConnectByCode } from '../../core/accounts/policy.ts'
import { deviceFlowPolicy, type LogoName, type Publisher, shownLogo } from '../../core/applications/application.ts'
import type { VettingProblem } from '../../core/applications/vetting.ts'
import { isOpen, type Variant } from '../../core/device/code.ts'
import type { Origin } from '../../core/device/origin.ts'
import { groupDigits } from '../../core/device/user-code.ts'
import { userCodeOf } from '../../secrets/user-code.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readUnvetted } from '../../store/applications/vettings.ts'
import { type DeviceCodeKey, readDeviceCode, type StoredDeviceCode } from '../../store/device/codes.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { type DescribedConsent, describeConsent } from '../grants/describe-consent.ts'
import { readApproval } from './read-approval.ts'
import { isConnected } from './read-delivery.ts'

export type OpenDecision = DescribedConsent & {
  readonly outcome: 'open'
  readonly application: string
  readonly publisher: Publisher
  readonly logo: LogoName | null
  /** In groups, as shown on the device. */
  readonly userCode: string
  readonly ageMs: number
  readonly remainingMs: number
  readonly variant: Variant
  readonly requestedFrom: string | null
  readonly requestedWith: string | null
  readonly suspended: boolean
  /** Why it cannot be granted before an operator has looked at it. */
  readonly unvetted: VettingProblem | null
  readonly origin: Origin
  /** Many users claimed codes that this application requested from the same network, within minutes. */
  readonly crowded: boolean
  /** Another user of the same account also entered this code. */
  readonly shared: boolean
  /** The user must retype the last group of the code: an attacker who dictates codes by phone has to repeat it. */
  readonly retype: boolean
}

export type DecisionView =
  | OpenDecision
  /** `connected`: the device has received its credentials, and they were not revoked since. */
  | { readonly outcome: 'granted'; readonly application: string; readonly shared: boolean; readonly connected: boolean }
  | { readonly outcome: 'rejected'; readonly application: string; readonly shared: boolean }
  /** After this user, a user of another account entered the code, which closed it. */
  | { readonly outcome: 'entered_elsewhere'; readonly application: string }
  /** Expired, barred, or never claimed by this user: indistinguishable. */
  | { readonly outcome: 'closed' }
  /** An access key, a dangerous scope or a crowd: the user must re-authenticate first. */
  | { readonly outcome: 'stale_session' }

/** The user's address, and the time of the request. */
export type ViewRequest = { readonly address: string | null; readonly now: number }

export async function readDecision(
  context: Context,
  sessionUser: SessionUser,
  key: DeviceCodeKey,
  { address, now: requestedAt }: ViewRequest,
): Promise<DecisionView> {
  const found = await readDeviceCode(context.db, key)
  if (!found || found.code.claimedBy !== sessionUser.id) return { outcome: 'closed' }
  const { code, now } = found
  const application = await findApplication(context.db, code.applicationId)
  const user = await readUser(context.db, sessionUser.id)
  const account = user && (await readAccount(context.db, user.accountId))
  if (!application || !user || !account) return { outcome: 'closed' }
  const decided = outcomeOf(code)
  const shared = code.alsoEntered === 'colleague'
  if (decided === 'granted') {
    const connected = await isConnected(context, account.id, code)
    return { outcome: decided, application: application.name, shared, connected }
  }
  if (decided) return { outcome: decided, application: application.name, shared }
  if (code.alsoEntered === 'another_account') return { outcome: 'entered_elsewhere', application: application.name }
  const userCode = userCodeOf(context.config.keys, code)
  if (userCode === null || !isOpen(code, now) || !mayConnectByCode(account.policy, application)) {
    return { outcome: 'closed' }
  }

  const consent = await describeConsent(context.db, user, code.scopes, deviceFlowPolicy(application))
  const approver = { authenticatedAt: sessionUser.session.authenticatedAt, address, now: requestedAt }
  const { crowded, origin, approval } = await readApproval(
    context,
    context.db,
    code,
    application,
    consent.can,
    await readUnvetted(context.db, application.id, user),
    approver,
  )
  if (approval === 'reauthenticate') return { outcome: 'stale_session' }
  return {
    outcome: 'open',
    application: application.name,
    publisher: application.publisher,
    logo: shownLogo(application),
    userCode: groupDigits(userCode),
    ageMs: now - code.createdAt,
    remainingMs: code.expiresAt - now,
    variant: code.variant,
    requestedFrom: code.requestedFrom,
    requestedWith: code.requestedWith,
    ...consent,
    suspended: application.suspended,
    unvetted: approval === 'ok' || approval === 'retype' ? null : approval,
    origin,
    crowded,
    shared,
    retype: approval === 'retype',
  }
}

function outcomeOf(code: StoredDeviceCode): 'granted' | 'rejected' | null {
  const outcome = code.status === 'used' ? code.delivery?.outcome : code.status
  if (outcome === 'accepted') return 'granted'
  return outcome === 'rejected' ? 'rejected' : null
}
