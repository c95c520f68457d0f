/** Clock of this library. Tests can replace it. */
export interface Clock {
  /** Current time in epoch milliseconds. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Longer timers fire at once (signed 32-bit limit of `setTimeout`). */
const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const stop = () => {
        clearTimeout(timer)
        reject(signal?.reason)
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
