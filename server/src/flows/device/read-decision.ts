/** View of a device code for its consent page, before and after the decision. Reads only. */
import { type LogoName, type Publisher, shownLogo } from '../../core/applications/application.ts'
import { isOpen, lossOf, type Variant } from '../../core/device/code.ts'
import type { Origin } from '../../core/device/origin.ts'
import { groupDigits } from '../../core/device/user-code.ts'
import { mayGrant } from '../../core/grants/granting.ts'
import { userCodeOf } from '../../secrets/user-code.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { type DeviceCodeKey, readDeviceCode, type StoredDeviceCode } from '../../store/device/codes.ts'
import type { SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { type DescribedConsent, describeConsent } from '../grants/describe-consent.ts'
import { readFacts, readOnPage } from '../grants/granting-facts.ts'
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
  /** See `lossOf`. */
  | { readonly outcome: NonNullable<ReturnType<typeof lossOf>>; readonly application: string }
  /** Expired, barred, or never claimed by this user: indistinguishable. */
  | { readonly outcome: 'closed' }
  /** The user must re-authenticate first. `anew`: after many grants; a recent sign-in elsewhere is not enough. */
  | { readonly outcome: 'stale_session'; readonly anew: boolean }

export async function readDecision(
  context: Context,
  sessionUser: SessionUser,
  key: DeviceCodeKey,
  address: string | null,
): Promise<DecisionView> {
  const found = await readDeviceCode(context.db, key)
  if (!found) return { outcome: 'closed' }
  const { code, now } = found
  const outcome = lossOf(code, sessionUser.id)
  const lost = outcome && (await findApplication(context.db, code.applicationId))
  if (lost) return { outcome, application: lost.name }
  if (code.claimedBy !== sessionUser.id) return { outcome: 'closed' }
  const request = { flow: 'device', ...code } as const
  const user = await readUser(context.db, sessionUser.id)
  const at = { userId: sessionUser.id, session: sessionUser.session, address, now }
  const by = await readOnPage(context, context.db, request, at, null)
  const facts = await readFacts(context.db, request, user, by, now)
  if (!facts) return { outcome: 'closed' }
  const { application, account } = facts
  const decided = outcomeOf(code)
  const shared = code.alsoEntered === 'colleague'
  if (decided === 'granted') {
    const connected = await isConnected(context, account.id, code)
    return { outcome: decided, application: application.name, shared, connected }
  }
  if (decided) return { outcome: decided, application: application.name, shared }
  const userCode = userCodeOf(context.config.keys, code)
  if (userCode === null || !isOpen(code, now)) return { outcome: 'closed' }

  const granting = mayGrant(facts)
  if (granting.outcome === 'gone' || granting.outcome === 'barred') return { outcome: 'closed' }
  if (granting.outcome === 'reauthenticate') return { outcome: 'stale_session', anew: by.grantedMany }
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
    ...(await describeConsent(context.db, facts, granting)),
    origin: by.origin,
    crowded: by.crowded,
    shared,
    retype: granting.outcome === 'retype',
  }
}

function outcomeOf(code: StoredDeviceCode): 'granted' | 'rejected' | null {
  const outcome = code.status === 'used' ? code.delivery?.outcome : code.status
  if (outcome === 'accepted') return 'granted'
  return outcome === 'rejected' ? 'rejected' : null
}
