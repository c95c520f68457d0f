/**
 * One device code and its polling, until the user has decided or its time is over. docs/interface.md, "Poll for authorization"
 * and "Delivery".
 *
 * Every poll of a session has the same `Idempotency-Key`. So an outcome whose answer was lost, here or in front of the
 * service, is given again; a key per poll would not do: an answer that was read whole may belong to an earlier poll when
 * something on the way repeats answers, and then the one that counted is lost without a fault.
 */
import type { Context } from './context.ts'
import { type CredentialsOf, readAccessKey, readTokenSet, type Variant } from './credentials.ts'
import { dialectFor, outcomeOf } from './device-dialect.ts'
import { LatchkeyError } from './errors.ts'
import { faultDelayMs, MOST_SLOW_DOWNS, pollDelayMs } from './pacing.ts'
import { refused } from './refusal.ts'
import type { Tokens } from './tokens.ts'
import { type Answer, isTransient } from './wire.ts'

/** What happened to a code. After `accepted`, `rejected` or `expired` nothing more does. */
export type DeviceEvent<V extends Variant = Variant> =
  | { readonly type: 'pending' | 'slow_down'; readonly nextPollAt: number }
  | { readonly type: 'accepted'; readonly credentials: CredentialsOf<V> }
  | { readonly type: 'rejected' | 'expired'; readonly requestId: string | undefined }

/** A session as it is kept between two processes. As secret as the credentials that it leads to. */
export interface SavedSession<V extends Variant = Variant> {
  readonly version: 1
  readonly variant: V
  readonly deviceCode: string
  readonly userCode: string
  readonly expiresAt: number
  readonly interval: number
  readonly state: string
  readonly sentState: string | null
  readonly idempotencyKey: string
  readonly slowDowns: number
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
}

type Step<V extends Variant> = { readonly event: DeviceEvent<V> } | { readonly error: unknown }

/** A code that is past its time and still called pending: the service cannot look it up at the moment. */
const GRACE_MS = 60_000

export class DeviceSession<V extends Variant = Variant> implements AsyncIterable<DeviceEvent<V>> {
  /** Digits as text: leading zeros count. */
  readonly userCode: string
  /** The digits in groups, for people. */
  readonly displayCode: string
  /** Where the user can go with the code: a page that asks for their account first. */
  readonly verificationUrl: string
  /** When both codes end, in epoch milliseconds. */
  readonly expiresAt: number

  readonly #context: Context
  readonly #tokens: Tokens
  readonly #saved: SavedSession<V>
  readonly #listeners = new Set<(step: Step<V>) => void>()
  #slowDowns: number
  #polling: AbortController | null = null
  #last: Step<V> | null = null

  constructor(context: Context, tokens: Tokens, saved: SavedSession<V>) {
    this.#context = context
    this.#tokens = tokens
    this.#saved = saved
    this.#slowDowns = saved.slowDowns
    this.userCode = saved.userCode
    this.displayCode = saved.userCode.replace(/\d{3}(?=\d{2})/g, '$& ')
    this.verificationUrl = `${context.wire.baseUrl}/activate`
    this.expiresAt = saved.expiresAt
  }

  /** Whole seconds until the code ends; 0 when it has. */
  remaining(): number {
    return Math.max(0, Math.ceil((this.expiresAt - this.#context.clock.now()) / 1000))
  }

  /** Polls until the user has decided. Rejects with `auth_rejected`, `code_expired`, `code_used`, `too_many_slow_downs` or `aborted`. */
  async wait(options: WaitOptions = {}): Promise<CredentialsOf<V>> {
    for await (const event of this.events(options)) {
      if (event.type === 'accepted') return event.credentials
      if (event.type === 'rejected') throw new LatchkeyError('auth_rejected', { requestId: event.requestId })
      if (event.type === 'expired') throw new LatchkeyError('code_expired', { requestId: event.requestId })
    }
    throw new LatchkeyError('aborted')
  }

  [Symbol.asyncIterator](): AsyncIterator<DeviceEvent<V>> {
    return this.events()
  }

  /** Polls, and says what every poll brought. All who listen to a session share one poll at a time. */
  async *events({ signal }: WaitOptions = {}): AsyncGenerator<DeviceEvent<V>, void, void> {
    const steps: Step<V>[] = this.#last ? [this.#last] : []
    let wake = () => {}
    const listen = (step: Step<V>) => {
      steps.push(step)
      wake()
    }
    const stop = () => wake()
    signal?.addEventListener('abort', stop, { once: true })
    if (!this.#last && !signal?.aborted) this.#join(listen)
    try {
      for (;;) {
        if (signal?.aborted) throw new LatchkeyError('aborted')
        const step = steps.shift()
        if (!step) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          continue
        }
        if ('error' in step) throw step.error
        yield step.event
        if (isFinal(step.event)) return
      }
    } finally {
      signal?.removeEventListener('abort', stop)
      this.#leave(listen)
    }
  }

  toJSON(): SavedSession<V> {
    return { ...this.#saved, slowDowns: this.#slowDowns }
  }

  #join(listen: (step: Step<V>) => void): void {
    this.#listeners.add(listen)
    if (this.#polling) return
    const polling = new AbortController()
    this.#polling = polling
    const tell = (step: Step<V>) => {
      if (polling.signal.aborted) return
      for (const listener of this.#listeners) listener(step)
    }
    this.#poll(polling.signal, (event) => tell({ event }))
      .then(
        (event) => {
          this.#last = { event }
          tell(this.#last)
        },
        (error: unknown) => {
          if (isFinal(error)) this.#last = { error }
          tell({ error })
        },
      )
      .finally(() => {
        if (this.#polling === polling) this.#polling = null
      })
  }

  #leave(listen: (step: Step<V>) => void): void {
    this.#listeners.delete(listen)
    if (this.#listeners.size > 0) return
    this.#polling?.abort()
    this.#polling = null
  }

  /** The first poll comes after one interval, also after a break: nobody can know when the last one was. */
  async #poll(signal: AbortSignal, tell: (event: DeviceEvent<V>) => void): Promise<DeviceEvent<V>> {
    const { clock } = this.#context
    const pace = () => pollDelayMs(this.#saved.interval, this.#slowDowns)
    let [delayMs, faults] = [pace(), 0]
    for (;;) {
      await clock.sleep(delayMs, signal)
      const over = clock.now() >= this.expiresAt + GRACE_MS
      try {
        const answer = await this.#ask(signal)
        const event = await this.#read(answer)
        faults = 0
        if (event === 'pending' && over) return { type: 'expired', requestId: answer.requestId }
        delayMs = Math.max(pace(), (answer.retryAfter ?? 0) * 1000)
        if (typeof event !== 'string') return event
        tell({ type: event, nextPollAt: clock.now() + delayMs })
      } catch (error) {
        if (!isTransient(error) || over) throw error
        faults += 1
        delayMs = Math.max(faultDelayMs(pace(), faults, Math.random()), (error.retryAfter ?? 0) * 1000)
      }
    }
  }

  #ask(signal: AbortSignal): Promise<Answer> {
    const { variant, deviceCode, idempotencyKey } = this.#saved
    const { pollPath, pollFields } = dialectFor(this.#context, variant)
    const form = { ...pollFields, device_code: deviceCode }
    return this.#context.wire.ask(pollPath, { form, signal, headers: { 'idempotency-key': idempotencyKey } })
  }

  async #read(answer: Answer): Promise<DeviceEvent<V> | 'pending' | 'slow_down'> {
    const { requestId } = answer
    const outcome = outcomeOf(answer)
    switch (outcome) {
      case 'accepted':
        return { type: 'accepted', credentials: await this.#accept(answer) }
      case 'pending':
        return outcome
      case 'slow_down':
        this.#slowDowns += 1
        if (this.#slowDowns >= MOST_SLOW_DOWNS) throw new LatchkeyError('too_many_slow_downs', { requestId })
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

  /** Kept before anybody is told. If the store fails, the next poll gets the same answer. */
  async #accept(answer: Answer): Promise<CredentialsOf<V>> {
    const { variant, state, sentState } = this.#saved
    if (sentState !== null && answer.body.state !== sentState) {
      const message = 'The answer belongs to another code.'
      throw new LatchkeyError('unexpected_answer', { message, requestId: answer.requestId })
    }
    const now = this.#context.clock.now()
    const credentials = variant === 'key' ? readAccessKey(answer, state) : readTokenSet(answer, now, state)
    await this.#tokens.accept(credentials)
    return credentials as CredentialsOf<V>
  }
}

/** What ends a session for good; after other errors one may wait again. */
function isFinal(step: unknown): boolean {
  if (step instanceof LatchkeyError) return ['code_used', 'too_many_slow_downs'].includes(step.code)
  return ['accepted', 'rejected', 'expired'].includes((step as { type?: string }).type ?? '')
}
