/**
 * Poll of a device code by its application. docs/interface.md, "Poll for authorization".
 *
 * Almost every poll is answered by the gate, without reading a row. A final outcome comes only from the transaction at
 * the end of this file: lock, decide, save, issue. It is sent once; `deliver.ts` defines "sent".
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isExpired, isForgotten, LEASE_MS, poll, type Variant } from '../../core/device/code.ts'
import { MAX_HINT_MS, paceFor } from '../../gate/gate.ts'
import type { DeviceCodeText } from '../../secrets/device-code-text.ts'
import { digestIdempotencyKey } from '../../secrets/idempotency-key.ts'
import { createLeaseId } from '../../secrets/random.ts'
import { lockDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { type IssuedKey, type IssuedTokenSet, issueFirst } from '../grants/issue.ts'
import type { DeliveryTicket } from './deliver.ts'
import type { HeldPoll } from './held-polls.ts'

export type PollRequest = {
  readonly applicationId: string
  /** Null for a public application. */
  readonly secret: string | null
  readonly deviceCode: string
  /** Given by the polled path. */
  readonly variant: Variant
  readonly idempotencyKey: string | null
  /** Null: the answer is not held. */
  readonly wait: Wait | null
}

export type Wait = {
  readonly seconds: number
  /** Calls back when the client disconnects. Returns a function that stops it. */
  onDisconnect(callback: () => void): () => void
}

/** The six outcomes. The caller confirms or releases a ticket with `deliver.ts`; a repeated answer has no ticket. */
export type PollResult = (
  | { readonly outcome: 'auth_pending' | 'slow_down'; readonly intervalSeconds: number }
  | { readonly outcome: 'invalid' }
  | { readonly outcome: 'auth_rejected' | 'auth_expired'; readonly ticket: DeliveryTicket | null }
  | { readonly outcome: 'accepted'; readonly issued: Issued; readonly ticket: DeliveryTicket | null }
) & {
  /** Absent if the answer was not held. */
  readonly held?: Held
}

export type Held = { readonly ms: number; readonly maxSeconds: number }

export type Issued = (IssuedTokenSet | IssuedKey) & { readonly state: string }

/** Bad credentials, an unknown code, another application's code, the other variant's path: one answer, no effect. */
const INVALID: PollResult = { outcome: 'invalid' }

export async function pollDeviceCode(context: Context, request: PollRequest): Promise<PollResult> {
  const { applications, gate } = context
  if (!applications.authenticate(request.applicationId, request.secret)) return INVALID
  const code = context.verifyDeviceCode(request.deviceCode, request.applicationId)
  if (!code || code.variant !== request.variant) return INVALID
  if (isForgotten(code, applications.now())) return INVALID

  const held = request.wait && context.heldPolls.open(code.id, request.applicationId)
  try {
    const { early, pending } = await gate.poll(code.id, paceFor(code.intervalSeconds))
    context.usage.count(request.applicationId, 'polls')
    if (early) context.usage.count(request.applicationId, 'earlyPolls')
    const known = pending && !isExpired(code, applications.now())
    const result = known ? notYet(code, early) : await lookOrWait(context, request, code, early)
    // Counts only polls that were answered `slow_down`: an early poll that gets an outcome is no offence.
    if (result.outcome === 'slow_down') context.earlyPolls.count(code.id, request.applicationId)
    return request.wait && held && result.outcome === 'auth_pending'
      ? await hold(context, request, code, request.wait, held)
      : result
  } finally {
    held?.close()
  }
}

/** Waits until the code is decided or expires, its time is over, or the poll is released. */
async function hold(
  context: Context,
  request: PollRequest,
  code: DeviceCodeText,
  wait: Wait,
  held: HeldPoll,
): Promise<PollResult> {
  const heldFrom = performance.now()
  const expiresInMs = code.expiresAt - context.applications.now()
  const waitMs = Math.min(wait.seconds * 1000, Math.max(0, expiresInMs))
  const stopWatching = wait.onDisconnect(held.release)
  try {
    for (;;) {
      const woken = await held.until(Math.max(0, heldFrom + waitMs - performance.now()))
      const ended = woken === 'released' || (woken === 'over' && !isExpired(code, context.applications.now()))
      const result = ended ? notYet(code, false) : await lookOrWait(context, request, code, false)
      // A wrong announcement: the code is still pending.
      if (woken === 'decided' && result.outcome === 'auth_pending') continue
      return { ...result, held: { ms: performance.now() - heldFrom, maxSeconds: wait.seconds } }
    }
  } finally {
    stopWatching()
  }
}

async function lookOrWait(
  context: Context,
  request: PollRequest,
  code: DeviceCodeText,
  early: boolean,
): Promise<PollResult> {
  try {
    return await look(context, request, code, early)
  } catch (error) {
    // Without PostgreSQL no final outcome is possible, even past the code's expiry: a stored grant may not have been
    // delivered yet. The device keeps polling and nothing is lost. The same for an unexpected error.
    if (!(error instanceof Unavailable)) context.events.unexpected('poll', error)
    return notYet(code, early)
  }
}

function notYet(code: DeviceCodeText, early: boolean): PollResult {
  return { outcome: early ? 'slow_down' : 'auth_pending', intervalSeconds: code.intervalSeconds }
}

/** Waits while another poll delivers the outcome, until that delivery has succeeded or failed. */
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 1_600]

async function look(context: Context, request: PollRequest, code: DeviceCodeText, early: boolean): Promise<PollResult> {
  const idempotencyKey =
    request.idempotencyKey === null ? null : digestIdempotencyKey(context.config.keys, request.idempotencyKey, code.id)
  for (const waitMs of WAITS_MS) {
    const found = await context.reads.status(code)
    if (found?.status === 'pending') {
      context.gate.hint(code.id, Math.min(MAX_HINT_MS, found.remainingMs))
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
  return notYet(code, early)
}

function collect(
  context: Context,
  code: DeviceCodeText,
  idempotencyKey: string | null,
  tooEarly: boolean,
): Promise<PollResult | 'being_delivered'> {
  const leaseId = createLeaseId()

  return context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, code)
    if (!locked) return INVALID
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
