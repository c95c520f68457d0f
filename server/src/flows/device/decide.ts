/**
 * Decision of the user who entered a device code: grant, reject, release.
 * docs/interface/device-flow.md, "The user decides".
 */
import { byUser } from '../../core/audit/actor.ts'
import { accept, isOpen, reject, unclaim } from '../../core/device/code.ts'
import { isLastGroup, readTypedCode } from '../../core/device/user-code.ts'
import { type Actors, actorOf, type Decider, type Granting, mayGrant } from '../../core/grants/granting.ts'
import type { Consent } from '../../core/grants/scope.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { createGrantId } from '../../secrets/random.ts'
import { digestUserCode, userCodeOf } from '../../secrets/user-code.ts'
import { lockUser } from '../../store/accounts/users.ts'
import { shareTestMode } from '../../store/applications/test-modes.ts'
import { countOutsideGrant, lockUnvetted } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  type DeviceCodeKey,
  type Found,
  findByUserCode,
  lockDeviceCode,
  type StoredDeviceCode,
  saveDeviceCode,
} from '../../store/device/codes.ts'
import type { Queryable, Transaction } from '../../store/postgres/postgres.ts'
import { lockEntries } from '../../store/sign-in/attempts.ts'
import { holdSession } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { createGrant } from '../grants/create.ts'
import { readFacts, readOnPage } from '../grants/granting-facts.ts'
import { wakePolls } from './wake-polls.ts'

export type GrantResult =
  | { readonly outcome: 'granted'; readonly grantId: string; readonly consent: Consent }
  /** Decided, expired or claimed by somebody else, or the session has ended. */
  | { readonly outcome: 'not_open' }
  | Exclude<Granting, { readonly outcome: 'ok' }>

export type Grantor =
  | {
      readonly kind: 'page'
      readonly sessionId: string
      readonly address: string | null
      /** The scopes that the user saw and allowed. */
      readonly shown: readonly string[]
      /** The last group of the user code, as typed. */
      readonly lastGroup: string
    }
  | Exclude<Actors, { readonly kind: 'page' }>

const COMMAND_LINE = { kind: 'command_line' } as const

const NOT_OPEN = { outcome: 'not_open' } as const

export async function grantDeviceCode(
  context: Context,
  userId: string,
  key: DeviceCodeKey,
  by: Grantor = COMMAND_LINE,
): Promise<GrantResult> {
  const { db, events, config } = context
  const grantId = createGrantId()

  const result = await db.transaction(async (tx) => {
    if (by.kind === 'page') await lockEntries(tx, userId)
    const locked = await lockDeviceCode(tx, key)
    const user = await lockUser(tx, userId)
    if (!locked || !user) return NOT_OPEN
    const { code, now } = locked
    await lockUnvetted(tx, code.applicationId, user)
    const decider = await holdDecider(context, tx, locked, userId, by)
    const step = accept(code, userId, grantId, now)
    if (!decider || step.answer === 'not_open') return NOT_OPEN
    const facts = await readFacts(tx, { flow: 'device', ...code }, user, decider, now)
    if (!facts) return { outcome: 'gone' } as const
    const granting = mayGrant(facts)
    if (granting.outcome !== 'ok') return granting

    const { application, account, unvetted } = facts
    const { consent } = granting
    if (unvetted && !unvetted.counted) await countOutsideGrant(tx, application.id)
    await createGrant(tx, actorOf(by, userId), user, application, {
      id: grantId,
      variant: code.variant,
      scopes: consent.granted,
      keyId: config.keys.signing.id,
      deviceCodeId: code.id,
      dialogId: null,
      testEndsAt: by.kind === 'test' ? by.test.endsAt : null,
      requestedFrom: code.requestedFrom,
    })
    const about = { applicationId: application.id, accountId: account.id }
    await saveDeviceCode(tx, step.next)
    return { outcome: 'granted', consent, ...about } as const
  })

  if (result.outcome !== 'granted') return result
  await wakePolls(context, key.id)
  events.granted(grantId, result.applicationId, result.accountId)
  return { outcome: 'granted', grantId, consent: result.consent }
}

/**
 * The decider, with the session or the test mode locked. Null if the session has ended, or if the user code cannot be
 * computed. Call after locking the user: a password change may have ended the session meanwhile.
 */
async function holdDecider(
  context: Context,
  tx: Transaction,
  { code, now }: Found,
  userId: string,
  by: Grantor,
): Promise<Decider | null> {
  if (by.kind === 'test') await shareTestMode(tx, code.applicationId)
  if (by.kind !== 'page') return by
  const session = await holdSession(tx, by.sessionId, userId)
  const userCode = userCodeOf(context.config.keys, code)
  if (!session || userCode === null) return null
  const answer = { shown: by.shown, retyped: isLastGroup(userCode, by.lastGroup) }
  const at = { userId, session, address: by.address, now }
  return readOnPage(context, tx, { flow: 'device', ...code }, at, answer)
}

export type RejectResult = { readonly outcome: 'rejected' | 'not_open' }

export type Rejector =
  | {
      readonly kind: 'page'
      readonly sessionId: string
      /** The user pressed "I did not start this": a rejection that is also recorded as a report of the application. */
      readonly reported: boolean
    }
  | Exclude<Actors, { readonly kind: 'page' }>

export async function rejectDeviceCode(
  context: Context,
  userId: string,
  key: DeviceCodeKey,
  by: Rejector = COMMAND_LINE,
): Promise<RejectResult> {
  const rejected = await context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, key)
    const user = await lockUser(tx, userId)
    if (!locked || !user || user.disabled) return null
    // As for a grant: a report counts against the application, so an ended session must not make one.
    if (by.kind === 'page' && !(await holdSession(tx, by.sessionId, userId))) return null
    const step = reject(locked.code, userId, locked.now)
    if (step.answer === 'not_open') return null

    await saveDeviceCode(tx, step.next)
    const about = { accountId: user.accountId, applicationId: locked.code.applicationId }
    const event = { actor: actorOf(by, userId), ...about, userId, deviceCodeId: key.id }
    await recordEvent(tx, { kind: 'code.rejected', ...event })
    if (by.kind === 'page' && by.reported) {
      const detail = { requestedFrom: locked.code.requestedFrom }
      await recordEvent(tx, { kind: 'code.reported', ...event, detail })
    }
    return about
  })

  if (!rejected) return { outcome: 'not_open' }
  await wakePolls(context, key.id)
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
