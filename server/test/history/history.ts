/**
 * History of one device code: what each client asked, what it heard, and when, on the monotonic clock of one process. A
 * client that got no answer, or an error instead of one (503), does not know whether its request took effect.
 */
import type { WireAnswer } from '../rig/device.ts'

export type Call =
  | { readonly do: 'request' }
  | Entry
  /** `unclaim`: the user says that the code is not theirs. */
  | { readonly do: 'grant' | 'reject' | 'unclaim'; readonly user: string }
  /** `key`: its Idempotency-Key. `path`: of the variant that the code was requested with, or of the other one. */
  | { readonly do: 'poll'; readonly key: string | null; readonly path: 'own' | 'other' }
  /** The code's lifetime ends. The service does this by itself. */
  | { readonly do: 'expire' }

/** `person`: who the user is, if a user of another account is the same. `instead`: of a colleague who entered the code before. */
export type Entry = {
  readonly do: 'enter'
  readonly user: string
  readonly account: string
  readonly person?: string
  readonly instead?: boolean
}

export type Poll = Extract<Call, { readonly do: 'poll' }>

export type Answer = {
  readonly is: string
  /** The access token or access key of an accepted poll. */
  readonly credentials: string | null
}

export type Operation = {
  readonly call: Call
  /** Null if the client does not know. Such an operation takes effect at any later time, or never. */
  readonly answer: Answer | null
  readonly calledAt: number
  /** Infinity if the client does not know the answer. */
  readonly answeredAt: number
}

/** An answer without credentials. */
export const plain = (is: string): Answer => ({ is, credentials: null })

const PENDING = ['auth_pending', 'slow_down']

export const isPending = ({ is }: Answer): boolean => PENDING.includes(is)

/** The six outcomes of a poll. Anything else says nothing about the code. */
export function readPoll({ status, body }: WireAnswer): Answer | null {
  if (status === 200) return { is: 'accepted', credentials: body.access_token ?? body.access_key }
  return status === 400 ? plain(String(body.error)) : null
}

export class History {
  readonly #operations: Operation[] = []
  #pendingIsOldMs = 0

  /** Runs one request of a client. If it fails, its outcome is unknown. */
  async record<T>(call: Call, send: () => Promise<T>, read: (result: T) => Answer | null): Promise<T> {
    const calledAt = performance.now()
    try {
      const result = await send()
      const answer = read(result)
      this.#operations.push({ call, answer, calledAt, answeredAt: answer === null ? Infinity : performance.now() })
      return result
    } catch (error) {
      this.#operations.push({ call, answer: null, calledAt, answeredAt: Infinity })
      throw error
    }
  }

  /** An operation that was recorded elsewhere. */
  add(operation: Operation): void {
    this.#operations.push(operation)
  }

  /**
   * The request of the code was just answered. The code expires so many seconds after the service handled the request, which
   * was while the client waited.
   */
  requested(calledAt: number, lifetimeSeconds: number): void {
    const answeredAt = performance.now()
    const lifetimeMs = lifetimeSeconds * 1000
    const end = { calledAt: calledAt + lifetimeMs, answeredAt: answeredAt + lifetimeMs }
    this.#operations.push(
      { call: { do: 'request' }, answer: plain('requested'), calledAt, answeredAt },
      { call: { do: 'expire' }, answer: plain('expired'), ...end },
    )
  }

  /**
   * Polls may be answered that the code is pending when it was so up to this long ago: a hint outlives an engine that did
   * not answer (docs/interface/differences.md, 7, 8 and 10).
   */
  pendingMayBeOld(ms: number): void {
    this.#pendingIsOldMs = Math.max(this.#pendingIsOldMs, ms)
  }

  get operations(): readonly Operation[] {
    return this.#operations.map((operation) => {
      const { answer, calledAt } = operation
      return answer && isPending(answer) ? { ...operation, calledAt: calledAt - this.#pendingIsOldMs } : operation
    })
  }
}
