/** Time, as the rest of this library sees it. A test may bring its own. */
import { LatchkeyError } from './errors.ts'

export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /** Resolves after `ms`; rejects with `aborted` as soon as the signal says so. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Beyond it, timers fire at once. */
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
