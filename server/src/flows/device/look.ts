/**
 * Read of a polled device code, here or in the cell that has it. A final outcome comes only from the transaction at the
 * end of this file: lock, decide, save, issue.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isExpired, LEASE_MS, poll } from '../../core/device/code.ts'
import { MAX_HINT_MS } from '../../gate/gate.ts'
import type { DeviceCodeText } from '../../secrets/device-code-text.ts'
import { createLeaseId } from '../../secrets/random.ts'
import { lockDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import type { Cells } from '../cells/cells.ts'
import type { Context } from '../context.ts'
import { type IssuedKey, type IssuedTokenSet, issueFirst } from '../grants/issue.ts'
import type { DeliveryTicket } from './deliver.ts'
import { handOverCode } from './hand-over.ts'

/** The six outcomes. The caller confirms or releases a ticket with `deliver.ts`; a repeated answer has no ticket. */
export type LookResult =
  | NotYet
  | { readonly outcome: 'invalid' }
  | { readonly outcome: 'auth_rejected' | 'auth_expired'; readonly ticket: DeliveryTicket | null }
  | { readonly outcome: 'accepted'; readonly issued: Issued; readonly ticket: DeliveryTicket | null }

type NotYet = {
  readonly outcome: 'auth_pending' | 'slow_down'
  readonly intervalSeconds: number
  /** The row was not read as pending, and no announcement may follow: a held poll reads it again after this time. */
  readonly readAgainMs?: number
}

export type Issued = (IssuedTokenSet | IssuedKey) & { readonly state: string }

/** Bad credentials, an unknown code, another application's code, the other variant's path: one answer, no effect. */
export const INVALID: LookResult = { outcome: 'invalid' }

/** A poll as sent to the cell that has the code: without application credentials and `Prefer: wait`. */
export type Look = {
  readonly code: PolledCode
  /** Digest. */
  readonly idempotencyKey: string | null
  readonly early: boolean
  /** Whether a hint is stored if the code is pending. */
  readonly hinted: boolean
  /** Sent on by a cell that had the code before: the receiving cell does not send it on again. */
  readonly onward?: true
}

type PolledCode = Pick<DeviceCodeText, 'id' | 'expiresAt' | 'intervalSeconds'>

export function notYet(code: PolledCode, early: boolean): NotYet {
  return { outcome: early ? 'slow_down' : 'auth_pending', intervalSeconds: code.intervalSeconds }
}

/** Perhaps decided: a held poll reads as often as a device that polls at its interval. */
export function unread(code: PolledCode, early: boolean): NotYet {
  return { ...notYet(code, early), readAgainMs: code.intervalSeconds * 1000 }
}

/** Waits while another poll delivers the outcome, until that delivery has succeeded or failed. */
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 1_600]

export async function look(context: Context, asked: Look): Promise<LookResult> {
  const { code, idempotencyKey, early, hinted } = asked
  for (const waitMs of WAITS_MS) {
    const found = await context.reads.status(code)
    if (found && found.handedTo !== null) return lookElsewhere(context, asked, found.handedTo)
    if (found?.status === 'pending') {
      if (hinted) context.gate.hint(code.id, Math.min(MAX_HINT_MS, found.remainingMs))
      return notYet(code, early)
    }
    const repetition = idempotencyKey !== null && idempotencyKey === found?.idempotencyKey
    if (found?.status === 'used' && !repetition) return INVALID
    // Also if no row was found: a standby may not have it yet, and then rejects the transaction.
    if (found?.status !== 'leased' || repetition) {
      const askedAt = performance.now()
      const result = await collect(context, code, idempotencyKey, early)
      // A process that stood still for longer than its lease may have lost the outcome to another poll: it looks again.
      const leaseIsOver = performance.now() - askedAt >= LEASE_MS
      if (result !== 'being_delivered' && !leaseIsOver) return result
    }
    await sleep(waitMs)
  }
  // The process of the poll that held the lease has died. The device keeps polling until the lease ends.
  return unread(code, early)
}

/** In the cell that has the code, or had it until the account of its user moved. Null: this one does not have it. */
export async function lookHere(context: Context, asked: Look): Promise<LookResult | null> {
  const found = await context.reads.status(asked.code)
  if (found?.handedTo === null) return look(context, asked)
  if (!found || !context.cells || asked.onward) return null
  return askHolder(context.cells, { ...asked, onward: true }, found.handedTo)
}

async function askHolder(cells: Cells, asked: Look, holder: number): Promise<LookResult | null> {
  const { result } = await cells.ask<{ result: LookResult | null }>(holder, 'look', { ...asked })
  if (!result || !('ticket' in result) || !result.ticket) return result
  return { ...result, ticket: { holder, ...result.ticket } }
}

/** While another cell has the code, it is asked this often: its announcement of the decision may be lost. */
const ASK_EVERY_MS = 1_500

/** No hint is stored: the decision is made in another cell, which may not be able to tell this one. */
async function lookElsewhere(context: Context, asked: Look, holder: number): Promise<LookResult> {
  const { cells, applications } = context
  const { code, early } = asked
  if (!cells) return notYet(code, early)
  const result = await askHolder(cells, asked, holder)
  if (result === null && isExpired(code, applications.now())) {
    // It never received the code, or has given it back.
    const back = await handOverCode(context, cells, { key: code }, null)
    if (back.answer === 'here') return look(context, asked)
  }
  if (result === null || result.outcome === 'auth_pending' || result.outcome === 'slow_down') {
    return { ...notYet(code, early), readAgainMs: ASK_EVERY_MS }
  }
  return result
}

function collect(
  context: Context,
  code: PolledCode,
  idempotencyKey: string | null,
  tooEarly: boolean,
): Promise<LookResult | 'being_delivered'> {
  const leaseId = createLeaseId()

  return context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, code)
    if (!locked) return INVALID
    // Handed over since it was read.
    if (locked.code.handedTo !== null) return unread(code, tooEarly)
    const step = poll(locked.code, { now: locked.now, tooEarly, leaseId, idempotencyKey })
    switch (step.answer) {
      case 'invalid':
        return INVALID
      case 'being_delivered':
        return 'being_delivered'
      case 'auth_pending':
      case 'slow_down':
        return notYet(code, tooEarly)
      case 'deliver':
      case 'repeat': {
        if (step.answer === 'deliver') await saveDeviceCode(tx, step.next)
        const { delivery } = step
        const ticket = step.answer === 'deliver' ? { id: code.id, expiresAt: code.expiresAt, delivery } : null
        if (delivery.outcome !== 'accepted') return { outcome: `auth_${delivery.outcome}`, ticket }
        const { grantId, state } = locked.code
        const again = step.answer === 'repeat'
        const issued = grantId === null ? null : await issueFirst(context, tx, grantId, locked.now, again)
        if (issued) return { outcome: 'accepted', issued: { ...issued, state }, ticket }
        if (step.answer === 'deliver') await saveDeviceCode(tx, { ...step.next, status: 'used' })
        return INVALID
      }
    }
  })
}
