/**
 * Polling of one device code until the user has decided or the code has expired.
 * docs/interface/device-flow.md, "Poll for authorization"
 * and "Delivery".
 *
 * All polls of a session send the same `Idempotency-Key`, so that for ten minutes the service repeats an outcome whose
 * response was lost. One key per poll would not work: an intermediary may answer a poll with the response to an
 * earlier one and drop the response with the outcome, and the client sees no error.
 */
import type { Context } from './context.ts'
import { type CredentialsOf, readAccessKey, readTokenSet, type Variant } from './credentials.ts'
import { dialectFor, outcomeOf } from './device-dialect.ts'
import { LatchkeyError } from './errors.ts'
import { faultDelayMs, heldDelayMs, MAX_SLOW_DOWNS, MAX_WAIT_SECONDS, pollDelayMs, waitAfterFault } from './pacing.ts'
import { refused } from './refusal.ts'
import type { Tokens } from './tokens.ts'
import { type Answer, isTransient, TIME_LIMIT_MS } from './wire.ts'

/** Progress of a device code. `accepted`, `rejected` and `expired` are final. */
export type DeviceEvent<V extends Variant = Variant> =
  | { readonly type: 'pending' | 'slow_down'; readonly nextPollAt: number }
  | { readonly type: 'accepted'; readonly credentials: CredentialsOf<V> }
  | { readonly type: 'rejected' | 'expired'; readonly requestId: string | undefined }

/** A session, serialized to be resumed by another process. As secret as the credentials that it leads to. */
export interface SavedSession<V extends Variant = Variant> {
  readonly version: 1
  readonly variant: V
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUrl: string
  readonly expiresAt: number
  /** Lifetime in seconds, from the code request. */
  readonly expiresIn: number
  readonly interval: number
  readonly state: string
  readonly sentState: string | null
  readonly idempotencyKey: string
  readonly slowDowns: number
}

/** State that the polls of a session share. */
export interface Polls<V extends Variant = Variant> {
  readonly context: Context
  readonly tokens: Tokens
  readonly saved: SavedSession<V>
  slowDowns: number
}

/** How long polling continues after the code's expiry while the service still answers `pending` or does not answer. */
const GRACE_MS = 60_000

/**
 * The service answers `pending` when it cannot look the code up:
 * docs/interface/limits.md, "When PostgreSQL or Redis is unavailable".
 */
const OUTCOME_UNKNOWN =
  'The time of the code is over, and the service cannot say what became of it. Wait again, or let the user ask for a new code.'

/**
 * Waits one interval before the first poll, also after `resume`: the time of the previous poll is unknown. Every poll
 * asks the service to hold its response until the user decides; where it does not, or something in between cuts it off,
 * polling goes on at the interval. The service decides when the code has expired. A device's clock may be corrected by
 * years while it waits, so this function adds up its waits instead.
 */
export async function pollUntilDecided<V extends Variant>(
  polls: Polls<V>,
  signal: AbortSignal,
  notify: (event: DeviceEvent<V>) => void,
): Promise<DeviceEvent<V>> {
  const {
    context: { clock, holdPolls },
    saved,
  } = polls
  const maxMs = saved.expiresIn * 1000 + GRACE_MS
  const pace = () => pollDelayMs(saved.interval, polls.slowDowns)
  let [delayMs, waitedMs, overdueMs, faults, waitSeconds] = [pace(), 0, 0, 0, holdPolls ? MAX_WAIT_SECONDS : 0]
  const add = (ms: number) => {
    waitedMs += ms
    if (clock.now() > saved.expiresAt) overdueMs += ms
  }
  for (;;) {
    await clock.sleep(delayMs, signal)
    add(delayMs)
    const sentAt = clock.now()
    const took = () => Math.min(Math.max(0, clock.now() - sentAt), waitSeconds * 1000 + TIME_LIMIT_MS)
    try {
      const answer = await ask(polls, waitSeconds, signal)
      if (answer.held) add(took())
      const event = await read(polls, answer)
      faults = 0
      if (typeof event !== 'string') return event
      if (waitedMs > maxMs)
        throw new LatchkeyError('unavailable', { message: OUTCOME_UNKNOWN, requestId: answer.requestId })
      delayMs =
        answer.held && event === 'pending' && answer.retryAfter !== undefined
          ? heldDelayMs(answer.retryAfter)
          : atLeast(polls, pace(), answer.retryAfter)
      notify({ type: event, nextPollAt: clock.now() + delayMs })
    } catch (error) {
      if (!isTransient(error) || waitedMs > maxMs || overdueMs > GRACE_MS) throw error
      faults += 1
      if (waitSeconds > 0) {
        add(took())
        waitSeconds = waitAfterFault(waitSeconds, took())
      }
      delayMs = atLeast(polls, faultDelayMs(pace(), faults, Math.random()), error.retryAfter)
    }
  }
}

/** The delay, at least `Retry-After`, which is limited to the remaining lifetime of the code. */
function atLeast({ context, saved }: Polls, delayMs: number, retryAfter: number | undefined): number {
  const leftMs = saved.expiresAt - context.clock.now()
  return Math.max(delayMs, Math.min((retryAfter ?? 0) * 1000, leftMs))
}

function ask({ context, saved }: Polls, waitSeconds: number, signal: AbortSignal): Promise<Answer> {
  const { variant, deviceCode, idempotencyKey } = saved
  const { pollPath, pollFields } = dialectFor(context, variant)
  const form = { ...pollFields, device_code: deviceCode }
  const headers = {
    'idempotency-key': idempotencyKey,
    ...(waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {}),
  }
  return context.wire.ask(pollPath, { form, signal, headers, timeLimitMs: TIME_LIMIT_MS + waitSeconds * 1000 })
}

async function read<V extends Variant>(
  polls: Polls<V>,
  answer: Answer,
): Promise<DeviceEvent<V> | 'pending' | 'slow_down'> {
  const { requestId } = answer
  const outcome = outcomeOf(answer)
  switch (outcome) {
    case 'accepted':
      return { type: 'accepted', credentials: await accept(polls, answer) }
    case 'pending':
      return outcome
    case 'slow_down':
      polls.slowDowns += 1
      if (polls.slowDowns >= MAX_SLOW_DOWNS) throw new LatchkeyError('too_many_slow_downs', { requestId })
      return outcome
    case 'rejected':
    case 'expired':
      return { type: outcome, requestId }
    case 'invalid':
      throw new LatchkeyError('code_used', { requestId })
    case null:
      throw refused(answer)
  }
}

/**
 * Stores the credentials before listeners are notified. If the store fails, the next poll gets the same credentials.
 */
async function accept<V extends Variant>(
  { context, tokens, saved }: Polls<V>,
  answer: Answer,
): Promise<CredentialsOf<V>> {
  const { variant, state, sentState } = saved
  if (sentState !== null && answer.body.state !== sentState) {
    const message = 'The answer belongs to another code.'
    throw new LatchkeyError('unexpected_answer', { message, requestId: answer.requestId })
  }
  const now = context.clock.now()
  const credentials = variant === 'access_key' ? readAccessKey(answer, state) : readTokenSet(answer, now, state)
  await tokens.accept(credentials)
  return credentials as CredentialsOf<V>
}
