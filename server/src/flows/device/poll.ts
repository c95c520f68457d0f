/**
 * Poll of a device code by its application. docs/interface.md, "Poll for authorization".
 *
 * Almost every poll is answered by the gate, without reading a row. A final outcome comes only from the transaction at
 * the end of this file: lock, decide, save, issue. It is sent once; `deliver.ts` defines "sent".
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cellOfBucket } from '../../core/cells/map.ts'
import { isExpired, isForgotten, LEASE_MS, poll, type Variant } from '../../core/device/code.ts'
import { MAX_HINT_MS, paceFor } from '../../gate/gate.ts'
import { bucketOf } from '../../secrets/bucket.ts'
import type { DeviceCodeText } from '../../secrets/device-code-text.ts'
import { digestIdempotencyKey } from '../../secrets/idempotency-key.ts'
import { createLeaseId } from '../../secrets/random.ts'
import { lockDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import type { Cells } from '../cells/cells.ts'
import type { Context } from '../context.ts'
import { type IssuedKey, type IssuedTokenSet, issueFirst } from '../grants/issue.ts'
import type { DeliveryTicket } from './deliver.ts'
import { handOverCode } from './hand-over.ts'
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
  | NotYet
  | { readonly outcome: 'invalid' }
  | { readonly outcome: 'auth_rejected' | 'auth_expired'; readonly ticket: DeliveryTicket | null }
  | { readonly outcome: 'accepted'; readonly issued: Issued; readonly ticket: DeliveryTicket | null }
) & {
  /** Absent if the answer was not held. */
  readonly held?: Held
}

type NotYet = {
  readonly outcome: 'auth_pending' | 'slow_down'
  readonly intervalSeconds: number
  /** The row was not read as pending, and no announcement may follow: a held poll reads it again after this time. */
  readonly readAgainMs?: number
}

export type Held = {
  /**
   * Without the first read: the metrics show how long that took, and `Retry-After`, which is computed from this time, is
   * never too short.
   */
  readonly ms: number
  readonly maxSeconds: number
}

export type Issued = (IssuedTokenSet | IssuedKey) & { readonly state: string }

/** Bad credentials, an unknown code, another application's code, the other variant's path: one answer, no effect. */
const INVALID: PollResult = { outcome: 'invalid' }

export async function pollDeviceCode(context: Context, request: PollRequest): Promise<PollResult> {
  const arrivedAt = performance.now()
  const { applications, gate } = context
  if (!applications.authenticate(request.applicationId, request.secret)) return INVALID
  const code = context.verifyDeviceCode(request.deviceCode, request.applicationId)
  if (!code || code.variant !== request.variant) return INVALID
  if (isForgotten(code, applications.now())) return INVALID
  // Only the cell that issued a code can say something final about it.
  if (context.cells && !isIssuedHere(context.cells, request.deviceCode)) return notYet(code, false)

  const held = request.wait && context.heldPolls.open(code.id, request.applicationId)
  try {
    await held?.started()
    const { early, pending } = await gate.poll(code.id, paceFor(code.intervalSeconds))
    context.usage.count(request.applicationId, 'polls')
    if (early) context.usage.count(request.applicationId, 'earlyPolls')
    const known = pending && !isExpired(code, applications.now())
    const hinted = leavesHint(held && request.wait, early)
    const result = known ? notYet(code, early) : await lookOrPending(context, request, code, early, hinted)
    // Counts only polls that were answered `slow_down`: an early poll that gets an outcome is no offence.
    if (result.outcome === 'slow_down') context.earlyPolls.count(code.id, request.applicationId)
    return request.wait && held && result.outcome === 'auth_pending'
      ? await hold(context, request, code, { wait: request.wait, held, arrivedAt, readAgainMs: result.readAgainMs })
      : result
  } finally {
    held?.close()
  }
}

/** Not if the poll is held until a hint would have ended: only early polls come before that, and they leave one. */
function leavesHint(wait: Wait | null, early: boolean): boolean {
  return early || wait === null || wait.seconds * 1000 < MAX_HINT_MS
}

/** While another cell has the code, it is asked this often: its announcement of the decision may be lost. */
const ASK_EVERY_MS = 1_500

const NEVER = Number.POSITIVE_INFINITY

type Hold = {
  readonly wait: Wait
  readonly held: HeldPoll
  /** By `performance.now()`, as in `hold`. */
  readonly arrivedAt: number
  /** As the first read of the row answered. */
  readonly readAgainMs: number | undefined
}

/**
 * Waits until the code is decided or expires, its time is over, or the poll is released. The time counts from the
 * arrival: with a PostgreSQL that answers late, a proxy or our server would otherwise cut the connection before its end.
 */
async function hold(
  context: Context,
  request: PollRequest,
  code: DeviceCodeText,
  { wait, held, arrivedAt, readAgainMs: firstReadAgainMs = NEVER }: Hold,
): Promise<PollResult> {
  const heldFrom = performance.now()
  const expiresInMs = code.expiresAt - context.applications.now()
  const endsAt = Math.min(arrivedAt + wait.seconds * 1000, heldFrom + expiresInMs)
  const answer = (result: PollResult): PollResult => {
    return { ...result, held: { ms: performance.now() - heldFrom, maxSeconds: wait.seconds } }
  }
  const stopWatching = wait.onDisconnect(held.release)
  let readAgainMs = firstReadAgainMs
  try {
    for (;;) {
      const leftMs = Math.max(0, endsAt - performance.now())
      const woken = await held.until(Math.min(leftMs, readAgainMs))
      if (woken === 'released') return answer(notYet(code, false))
      const timeIsUp = woken === 'over' && leftMs <= readAgainMs
      if (timeIsUp && !isExpired(code, context.applications.now())) return answer(notYet(code, false))
      const result = await lookOrPending(context, request, code, false, false)
      if (timeIsUp || result.outcome !== 'auth_pending') return answer(result)
      // A wrong announcement, or the row was read again: the code is still pending.
      readAgainMs = result.readAgainMs ?? NEVER
    }
  } finally {
    stopWatching()
  }
}

async function lookOrPending(
  context: Context,
  request: PollRequest,
  code: DeviceCodeText,
  early: boolean,
  hinted: boolean,
): Promise<PollResult> {
  try {
    const { keys } = context.config
    const idempotencyKey =
      request.idempotencyKey === null ? null : digestIdempotencyKey(keys, request.idempotencyKey, code.id)
    return await look(context, { code, idempotencyKey, early, hinted })
  } catch (error) {
    // Without PostgreSQL no final outcome is possible, even past the code's expiry: a stored grant may not have been
    // delivered yet. The device keeps polling and nothing is lost. The same for an unexpected error.
    if (!(error instanceof Unavailable)) context.events.unexpected('poll', error)
    return unread(code, early)
  }
}

function notYet(code: PolledCode, early: boolean): NotYet {
  return { outcome: early ? 'slow_down' : 'auth_pending', intervalSeconds: code.intervalSeconds }
}

/** Perhaps decided: a held poll reads as often as a device that polls at its interval. */
function unread(code: PolledCode, early: boolean): NotYet {
  return { ...notYet(code, early), readAgainMs: code.intervalSeconds * 1000 }
}

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

/** Waits while another poll delivers the outcome, until that delivery has succeeded or failed. */
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 1_600]

async function look(context: Context, asked: Look): Promise<PollResult> {
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
export async function lookHere(context: Context, asked: Look): Promise<PollResult | null> {
  const found = await context.reads.status(asked.code)
  if (found?.handedTo === null) return look(context, asked)
  if (!found || !context.cells || asked.onward) return null
  return askHolder(context.cells, { ...asked, onward: true }, found.handedTo)
}

async function askHolder(cells: Cells, asked: Look, holder: number): Promise<PollResult | null> {
  const { result } = await cells.ask<{ result: PollResult | null }>(holder, 'look', { ...asked })
  if (!result || !('ticket' in result) || !result.ticket) return result
  return { ...result, ticket: { holder, ...result.ticket } }
}

/** No hint is stored: the decision is made in another cell, which may not be able to tell this one. */
async function lookElsewhere(context: Context, asked: Look, holder: number): Promise<PollResult> {
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

function isIssuedHere(cells: Cells, deviceCode: string): boolean {
  return cellOfBucket(cells.map(), bucketOf(deviceCode) ?? 0)?.id === cells.own
}

function collect(
  context: Context,
  code: PolledCode,
  idempotencyKey: string | null,
  tooEarly: boolean,
): Promise<PollResult | 'being_delivered'> {
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
