/** Decision of the user who entered a device code: grant, reject, release. docs/interface.md, "The user decides". */
import { mayConnectByCode } from '../../core/accounts/policy.ts'
import { deviceFlowPolicy } from '../../core/applications/application.ts'
import { runningTestMode, type TestMode, testableScopes } from '../../core/applications/test-mode.ts'
import { type VettingProblem, vettingProblem } from '../../core/applications/vetting.ts'
import { type Actor, BY_COMMAND_LINE, byApplication, byUser } from '../../core/audit/actor.ts'
import { accept, isOpen, reject, unclaim } from '../../core/device/code.ts'
import { isLastGroup, readTypedCode } from '../../core/device/user-code.ts'
import { type Consent, resolveConsent } from '../../core/grants/scope.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { createGrantId } from '../../secrets/random.ts'
import { digestUserCode, userCodeOf } from '../../secrets/user-code.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { lockUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readScopes } from '../../store/applications/scopes.ts'
import { shareTestMode } from '../../store/applications/test-modes.ts'
import { countOutsideGrant, lockUnvetted } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  type DeviceCodeKey,
  findByUserCode,
  lockDeviceCode,
  type StoredDeviceCode,
  saveDeviceCode,
} from '../../store/device/codes.ts'
import type { Queryable, Transaction } from '../../store/postgres/postgres.ts'
import { holdSession } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { createGrant } from '../grants/create.ts'
import { isAsShown } from '../grants/describe-consent.ts'
import { readApproval } from './read-approval.ts'
import { announceDecision } from './wake-polls.ts'

export type GrantResult =
  | { readonly outcome: 'granted'; readonly grantId: string; readonly consent: Consent }
  /** The user holds none of the requested scopes, or lacks one that the application requires. */
  | { readonly outcome: 'lacking'; readonly consent: Consent }
  /** The scopes to grant differ from those the user was shown. */
  | { readonly outcome: 'changed'; readonly consent: Consent }
  | { readonly outcome: 'application_suspended' }
  /** No operator has looked at the application yet. */
  | { readonly outcome: 'unvetted'; readonly problem: VettingProblem }
  /** The approval rule asks for a recent sign-in, or for the last group of the code. */
  | { readonly outcome: 'reauthenticate' | 'retype' }
  | { readonly outcome: 'not_open' }

/** What the consent page showed, and in which session. Null on the command line and in test mode. */
export type ShownOnPage = {
  /** The scopes that the user saw and allowed. */
  readonly shown: readonly string[]
  readonly sessionId: string
  readonly address: string | null
  /** The last group of the user code, as typed. */
  readonly lastGroup: string
}

export async function grantDeviceCode(
  context: Context,
  userId: string,
  key: DeviceCodeKey,
  onPage: ShownOnPage | null = null,
  test: TestMode | null = null,
): Promise<GrantResult> {
  const { db, events, config } = context
  const grantId = createGrantId()

  const result = await db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, key)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return { outcome: 'not_open' } as const
    const unvetted = await lockUnvetted(tx, locked.code.applicationId, user)
    // Checked after locking the user: a password change may have ended the session meanwhile.
    const session = onPage && (await holdSession(tx, onPage.sessionId, userId))
    if (onPage && !session) return { outcome: 'not_open' } as const
    const { code, now } = locked
    if (test && !(await holdTestMode(tx, code.applicationId, test))) return { outcome: 'not_open' } as const
    const application = await findApplication(tx, code.applicationId)
    const account = await readAccount(tx, user.accountId)
    if (!application || !account) return { outcome: 'not_open' } as const
    if (!mayConnectByCode(account.policy, application)) return { outcome: 'not_open' } as const
    const step = accept(code, userId, grantId, now)
    if (step.answer === 'not_open') return { outcome: 'not_open' } as const
    if (application.suspended) return { outcome: 'application_suspended' } as const
    const held = test ? testableScopes(user.heldScopes, await readDangerous(tx, code.scopes)) : user.heldScopes
    const consent = resolveConsent(code.scopes, held, deviceFlowPolicy(application))
    const scopes = await readScopes(tx, consent.granted)
    const problem = vettingProblem(
      unvetted,
      scopes.some(({ dangerous }) => dangerous),
    )
    if (problem) return { outcome: 'unvetted', problem } as const
    if (onPage && session) {
      const approver = { authenticatedAt: session.authenticatedAt, address: onPage.address, now }
      const { approval } = await readApproval(context, tx, code, application, scopes, unvetted, approver)
      if (approval === 'reauthenticate') return { outcome: 'reauthenticate' } as const
      const userCode = userCodeOf(config.keys, code)
      if (userCode === null) return { outcome: 'not_open' } as const
      if (approval === 'retype' && !isLastGroup(userCode, onPage.lastGroup)) return { outcome: 'retype' } as const
    }
    if (!consent.grantable) return { outcome: 'lacking', consent } as const
    if (onPage && !isAsShown(onPage.shown, consent.granted)) return { outcome: 'changed', consent } as const

    const actor = onPage ? byUser(userId) : test ? byApplication(application.id) : BY_COMMAND_LINE
    if (unvetted && !unvetted.counted) await countOutsideGrant(tx, application.id)
    await createGrant(tx, actor, user, application, {
      id: grantId,
      variant: code.variant,
      scopes: consent.granted,
      keyId: config.keys.signing.id,
      deviceCodeId: code.id,
      dialogId: null,
      testEndsAt: test?.endsAt ?? null,
      requestedFrom: code.requestedFrom,
    })
    const about = { applicationId: application.id, accountId: account.id, issuedBy: code.issuedBy }
    await saveDeviceCode(tx, step.next)
    return { outcome: 'granted', consent, ...about } as const
  })

  if (result.outcome !== 'granted') return result
  await announceDecision(context, key.id, result.issuedBy)
  events.granted(grantId, result.applicationId, result.accountId)
  return { outcome: 'granted', grantId, consent: result.consent }
}

/** Whether this test mode is still on. Locked, so that ending it waits for the grant and revokes it. */
async function holdTestMode(tx: Transaction, applicationId: string, test: TestMode): Promise<boolean> {
  const known = await shareTestMode(tx, applicationId)
  const running = known && runningTestMode(known, known.now)
  // Another digest: it was switched off and on again meanwhile, and the old secret is not valid any more.
  return running?.secret.digest.equals(test.secret.digest) ?? false
}

async function readDangerous(tx: Transaction, names: readonly string[]): Promise<readonly string[]> {
  return (await readScopes(tx, names)).filter(({ dangerous }) => dangerous).map(({ name }) => name)
}

export type RejectResult = { readonly outcome: 'rejected' | 'not_open' }

/** A rejection on the consent page. Null on the command line and in test mode: no session. */
export type RejectedOnPage = {
  readonly sessionId: string
  /** The user pressed "I did not start this": a rejection that is also recorded as a report of the application. */
  readonly reported: boolean
}

export async function rejectDeviceCode(
  context: Context,
  userId: string,
  key: DeviceCodeKey,
  onPage: RejectedOnPage | null = null,
  actor: Actor = onPage ? byUser(userId) : BY_COMMAND_LINE,
): Promise<RejectResult> {
  const rejected = await context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, key)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return null
    // As for a grant: a report counts against the application, so an ended session must not make one.
    if (onPage && !(await holdSession(tx, onPage.sessionId, userId))) return null
    const step = reject(locked.code, userId, locked.now)
    if (step.answer === 'not_open') return null

    await saveDeviceCode(tx, step.next)
    const about = { accountId: user.accountId, applicationId: locked.code.applicationId }
    const event = { actor, ...about, userId, deviceCodeId: key.id }
    await recordEvent(tx, { kind: 'code.rejected', ...event })
    if (onPage?.reported) {
      const detail = { requestedFrom: locked.code.requestedFrom }
      await recordEvent(tx, { kind: 'code.reported', ...event, detail })
    }
    return { ...about, issuedBy: locked.code.issuedBy }
  })

  if (!rejected) return { outcome: 'not_open' }
  await announceDecision(context, key.id, rejected.issuedBy)
  context.events.codeRejected(rejected.applicationId, rejected.accountId)
  return { outcome: 'rejected' }
}

/** "Not you?": drops the claim, so that a user of any account can enter the code without closing it. */
export async function releaseCode(
  context: Context,
  userId: string,
  key: DeviceCodeKey,
  sessionId: string,
): Promise<void> {
  await context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, key)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return
    if (!(await holdSession(tx, sessionId, userId))) return
    const step = unclaim(locked.code, userId, locked.now)
    if (step.answer === 'not_open') return
    await saveDeviceCode(tx, step.next)
    const { applicationId } = locked.code
    const about = { actor: byUser(userId), accountId: user.accountId, userId, applicationId, deviceCodeId: key.id }
    await recordEvent(tx, { kind: 'code.released', ...about })
  })
}

export type ShownCode = {
  readonly userCode: string
  readonly code: StoredDeviceCode
  readonly now: number
  readonly open: boolean
}

/** For operators who know the user code: the newest device code with it, in any status. */
export async function showDeviceCode(db: Queryable, keys: Keyset, typed: string): Promise<ShownCode | null> {
  const read = readTypedCode(typed)
  if (read.answer !== 'code') return null
  const found = await findByUserCode(db, digestUserCode(keys, read.userCode))
  return found ? { ...found, userCode: read.userCode, open: isOpen(found.code, found.now) } : null
}
