/** Session of one device code: what to show to the user, waiting for the decision, and serialization. */
import type { CallOptions } from './abort.ts'
import type { Context } from './context.ts'
import type { CredentialsOf, Variant } from './credentials.ts'
import { type DeviceEvent, type Polls, pollUntilDecided, type SavedSession } from './device-polling.ts'
import { LatchkeyError } from './errors.ts'
import type { Tokens } from './tokens.ts'

type Step<V extends Variant> = { readonly event: DeviceEvent<V> } | { readonly error: unknown }

export class DeviceSession<V extends Variant = Variant> implements AsyncIterable<DeviceEvent<V>> {
  /** The user code. Digits as text: leading zeros count. */
  readonly userCode: string
  /** The user code in groups of digits, for display. */
  readonly displayCode: string
  /** The page on which the user enters the code. It asks for their account first. */
  readonly verificationUrl: string
  /** When user code and device code expire, in epoch milliseconds. */
  readonly expiresAt: number

  readonly #polls: Polls<V>
  readonly #listeners = new Set<(step: Step<V>) => void>()
  #polling: AbortController | null = null
  #last: Step<V> | null = null

  constructor(context: Context, tokens: Tokens, saved: SavedSession<V>) {
    this.#polls = { context, tokens, saved, slowDowns: saved.slowDowns }
    this.userCode = saved.userCode
    this.displayCode = saved.userCode.replace(/\d{3}(?=\d{2})/g, '$& ')
    this.verificationUrl = saved.verificationUrl
    this.expiresAt = saved.expiresAt
  }

  /** Whole seconds until the code expires; 0 if it has. */
  remaining(): number {
    return Math.max(0, Math.ceil((this.expiresAt - this.#polls.context.clock.now()) / 1000))
  }

  /**
   * Polls until the user has decided. Rejects with `auth_rejected`, `code_expired`, `code_used`, `too_many_slow_downs`,
   * with the reason of the signal, and with `network` or `unavailable` if the service cannot be reached before the code
   * expires.
   */
  async wait(options: CallOptions = {}): Promise<CredentialsOf<V>> {
    for await (const event of this.events(options)) {
      if (event.type === 'accepted') return event.credentials
      if (event.type === 'rejected') throw new LatchkeyError('auth_rejected', { requestId: event.requestId })
      if (event.type === 'expired') throw new LatchkeyError('code_expired', { requestId: event.requestId })
    }
    throw new LatchkeyError('unexpected_answer')
  }

  [Symbol.asyncIterator](): AsyncIterator<DeviceEvent<V>> {
    return this.events()
  }

  /** Polls, and yields an event for every poll. All listeners of a session share one sequence of polls. */
  async *events({ signal }: CallOptions = {}): AsyncGenerator<DeviceEvent<V>, void, void> {
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
        signal?.throwIfAborted()
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
    return { ...this.#polls.saved, slowDowns: this.#polls.slowDowns }
  }

  #join(listen: (step: Step<V>) => void): void {
    this.#listeners.add(listen)
    if (this.#polling) return
    const polling = new AbortController()
    this.#polling = polling
    const notify = (step: Step<V>) => {
      if (polling.signal.aborted) return
      for (const listener of this.#listeners) listener(step)
    }
    pollUntilDecided(this.#polls, polling.signal, (event) => notify({ event }))
      .then(
        (event) => {
          this.#last = { event }
          notify(this.#last)
        },
        (error: unknown) => {
          if (isFinal(error)) this.#last = { error }
          notify({ error })
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
}

/** Whether an event or error ends the session for good. After any other error the application may wait again. */
function isFinal(step: unknown): boolean {
  if (step instanceof LatchkeyError) return ['code_used', 'too_many_slow_downs'].includes(step.code)
  return ['accepted', 'rejected', 'expired'].includes((step as { type?: string }).type ?? '')
}
