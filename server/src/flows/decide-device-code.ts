/** An account user enters a code, then grants or rejects it. docs/interface.md, "The user decides". */
import { accept, claim, isOpen, reject } from '../core/device-code.ts'
import { type Consent, resolveConsent } from '../core/scope.ts'
import { readTypedCode } from '../core/user-code.ts'
import { createGrantId } from '../secrets/random.ts'
import { lockUser } from '../store/accounts.ts'
import { findApplication } from '../store/applications.ts'
import { recordEvent } from '../store/audit-events.ts'
import {
  findByUserCode,
  lockDeviceCode,
  lockLiveUserCode,
  type Place,
  type StoredDeviceCode,
  saveDeviceCode,
} from '../store/device-codes.ts'
import { insertGrant } from '../store/grants.ts'
import type { Context } from './context.ts'

export type EntryResult =
  | {
      readonly outcome: 'claimed'
      readonly code: StoredDeviceCode
      readonly consent: Consent
      readonly applicationName: string
    }
  | { readonly outcome: 'empty' }
  | { readonly outcome: 'mistyped'; readonly digits: number }
  /** Unknown, expired, decided, used, or entered by somebody else before: one answer, so that nothing can be learned. */
  | { readonly outcome: 'not_recognised' }

export async function enterUserCode(context: Context, userId: string, typed: string): Promise<EntryResult> {
  const read = readTypedCode(typed)
  if (read.answer === 'empty') return { outcome: 'empty' }
  if (read.answer === 'mistyped') return { outcome: 'mistyped', digits: read.digits }

  return context.db.transaction(async (tx) => {
    const locked = await lockLiveUserCode(tx, read.userCode)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return { outcome: 'not_recognised' }
    const application = await findApplication(tx, locked.code.applicationId)
    const step = claim(locked.code, userId, locked.now)
    if (!application || step.answer === 'not_open') return { outcome: 'not_recognised' }

    await saveDeviceCode(tx, step.next)
    await recordEvent(tx, {
      kind: step.answer === 'claimed' ? 'code.claimed' : 'code.closed',
      accountId: user.accountId,
      userId,
      applicationId: application.id,
      deviceCodeId: locked.code.id,
    })
    if (step.answer === 'closed') return { outcome: 'not_recognised' }
    const consent = resolveConsent(locked.code.scopes, user.heldScopes, application)
    return { outcome: 'claimed', code: { ...locked.code, ...step.next }, consent, applicationName: application.name }
  })
}

export type GrantResult =
  | { readonly outcome: 'granted'; readonly grantId: string; readonly consent: Consent }
  /** Nothing of what was asked for is held, or something the application requires is not. */
  | { readonly outcome: 'lacking'; readonly consent: Consent }
  | { readonly outcome: 'application_suspended' }
  | { readonly outcome: 'not_open' }

export async function grantDeviceCode(context: Context, userId: string, place: Place): Promise<GrantResult> {
  const { db, gate, events, config } = context
  const grantId = createGrantId()

  const result = await db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, place)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return { outcome: 'not_open' } as const
    const { code, now } = locked
    const application = await findApplication(tx, code.applicationId)
    if (!application || application.deleted) return { outcome: 'not_open' } as const
    const step = accept(code, userId, grantId, now)
    if (step.answer === 'not_open') return { outcome: 'not_open' } as const
    if (application.suspended) return { outcome: 'application_suspended' } as const
    const consent = resolveConsent(code.scopes, user.heldScopes, application)
    if (!consent.grantable) return { outcome: 'lacking', consent } as const

    const grant = {
      id: grantId,
      accountId: user.accountId,
      userId,
      applicationId: application.id,
      variant: code.variant,
      scopes: consent.granted,
      keyId: config.keys.signing.id,
      deviceCodeId: code.id,
    }
    await insertGrant(tx, grant)
    await saveDeviceCode(tx, step.next)
    await recordEvent(tx, { kind: 'grant.created', ...grant, grantId, detail: { scopes: consent.granted } })
    return { outcome: 'granted', grantId, consent, grant } as const
  })

  if (result.outcome !== 'granted') return result
  await gate.drop(place.id)
  events.codeGranted(grantId, result.grant.applicationId, result.grant.accountId)
  return { outcome: 'granted', grantId, consent: result.consent }
}

export type RejectResult = { readonly outcome: 'rejected' | 'not_open' }

export async function rejectDeviceCode(context: Context, userId: string, place: Place): Promise<RejectResult> {
  const rejected = await context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, place)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return null
    const step = reject(locked.code, userId, locked.now)
    if (step.answer === 'not_open') return null

    await saveDeviceCode(tx, step.next)
    const about = { accountId: user.accountId, applicationId: locked.code.applicationId }
    await recordEvent(tx, { kind: 'code.rejected', ...about, userId, deviceCodeId: place.id })
    return about
  })

  if (!rejected) return { outcome: 'not_open' }
  await context.gate.drop(place.id)
  context.events.codeRejected(rejected.applicationId, rejected.accountId)
  return { outcome: 'rejected' }
}

export type ShownCode = { readonly code: StoredDeviceCode; readonly now: number; readonly open: boolean }

/** For an operator who was told the digits: whatever became of the newest code with them. */
export async function showDeviceCode(context: Pick<Context, 'db'>, typed: string): Promise<ShownCode | null> {
  const read = readTypedCode(typed)
  if (read.answer !== 'code') return null
  const found = await findByUserCode(context.db, read.userCode)
  return found ? { ...found, open: isOpen(found.code, found.now) } : null
}
