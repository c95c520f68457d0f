/** Read of a polled device code. A final outcome comes only from the transaction at the end of this file. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_MS, poll } from '../../core/device/code.ts'
import { MAX_HINT_MS } from '../../gate/gate.ts'
import type { DeviceCodeText } from '../../secrets/device-code-text.ts'
import { createLeaseId } from '../../secrets/random.ts'
import { lockDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import type { Context } from '../context.ts'
import { type IssuedKey, type IssuedTokenSet, issueFirst } from '../grants/issue.ts'
import type { DeliveryTicket } from './deliver.ts'

/** The six outcomes. The caller settles a ticket with `deliver.ts`; a repeated answer has no ticket. */
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

type Look = {
  readonly code: DeviceCodeText
  /** Digest. */
  readonly idempotencyKey: string | null
  readonly early: boolean
  /** Whether a hint is stored if the code is pending. */
  readonly hinted: boolean
}

export function notYet(code: DeviceCodeText, early: boolean): NotYet {
  return { outcome: early ? 'slow_down' : 'auth_pending', intervalSeconds: code.intervalSeconds }
}

/** Perhaps decided: a held poll reads as often as a device that polls at its interval. */
export function unread(code: DeviceCodeText, early: boolean): NotYet {
  return { ...notYet(code, early), readAgainMs: code.intervalSeconds * 1000 }
}

/** Waits while another poll delivers the outcome, until that delivery has succeeded or failed. */
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 1_600]

export async function look(context: Context, asked: Look): Promise<LookResult> {
  const { code, idempotencyKey, early, hinted } = asked
  for (const waitMs of WAITS_MS) {
    const found = await context.reads.status(code)
    if (found?.status === 'pending') {
      if (hinted) context.gate.hint(code.id, Math.min(MAX_HINT_MS, found.remainingMs))
      return notYet(code, early)
    }
    const repetition = idempotencyKey !== null && idempotencyKey === found?.idempotencyKey
    if (found?.status === 'used' && !repetition) return INVALID
    // Also if no row was found: a standby may not have it yet, and then rejects the transaction.
    if (found?.status !== 'leased' || repetition) {
      const askedAt = performance.now()
      const result = await collect(context, asked)
      // A process that stood still for longer than its lease may have lost the outcome to another poll: it looks again.
      const leaseIsOver = performance.now() - askedAt >= LEASE_MS
      if (result !== 'being_delivered' && !leaseIsOver) return result
    }
    await sleep(waitMs)
  }
  // The process of the poll that held the lease has died. The device keeps polling until the lease ends.
  return unread(code, early)
}

function collect(context: Context, { code, idempotencyKey, early }: Look): Promise<LookResult | 'being_delivered'> {
  const leaseId = createLeaseId()
  return context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, code)
    if (!locked) return INVALID
    const step = poll(locked.code, { now: locked.now, tooEarly: early, leaseId, idempotencyKey })
    switch (step.answer) {
      case 'invalid':
        return INVALID
      case 'being_delivered':
        return 'being_delivered'
      case 'auth_pending':
      case 'slow_down':
        return notYet(code, early)
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
