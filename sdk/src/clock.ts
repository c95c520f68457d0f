/** Clock of this library. Tests can replace it. */
import { LatchkeyError } from './errors.ts'

export interface Clock {
  /** Current time in epoch milliseconds. */
  now(): number
  /** Resolves after `ms`; rejects with `aborted` as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Longer timers fire at once (signed 32-bit limit of `setTimeout`). */
const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new LatchkeyError('aborted'))
      const stop = () => {
        clearTimeout(timer)
        reject(new LatchkeyError('aborted'))
      }
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        },
        Math.min(Math.max(0, ms), MAX_TIMER_MS),
      )
      signal?.addEventListener('abort', stop, { once: true })
    }),
}
