/**
 * Poll of a device code by its application. docs/interface/device-flow.md, "Poll for authorization".
 *
 * Almost every poll is answered by the gate, without reading a row. A final outcome comes only from the transaction in
 * `look.ts`. It is sent once; `deliver.ts` defines "sent".
 */
import { isExpired, isForgotten, type Variant } from '../../core/device/code.ts'
import { MAX_HINT_MS, paceFor } from '../../gate/gate.ts'
import type { DeviceCodeText } from '../../secrets/device-code-text.ts'
import { digestIdempotencyKey } from '../../secrets/idempotency-key.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import type { HeldPoll } from './held-polls.ts'
import { INVALID, type LookResult, look, notYet, unread } from './look.ts'

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

export type PollResult = LookResult & {
  /** Absent if the answer was not held. */
  readonly held?: Held
}

export type Held = {
  /**
   * Without the first read: the metrics show how long that took, and `Retry-After`, which is computed from this time, is
   * never too short.
   */
  readonly ms: number
  readonly maxSeconds: number
}

export async function pollDeviceCode(context: Context, request: PollRequest): Promise<PollResult> {
  const arrivedAt = performance.now()
  const { applications, gate } = context
  if (!applications.authenticate(request.applicationId, request.secret)) return INVALID
  const code = context.verifyDeviceCode(request.deviceCode, request.applicationId)
  if (!code || code.variant !== request.variant) return INVALID
  if (isForgotten(code, applications.now())) return INVALID

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
