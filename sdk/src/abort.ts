/** Aborting a call: it rejects with the reason of its signal, as `fetch` does. */

export interface CallOptions {
  /** When it aborts, the call rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Rejects when the signal aborts, without cancelling the work: other calls may wait for it, and the answer to a renewal
 * or a revocation must not be lost. Work does not start if the signal has aborted before.
 */
export function unlessAborted<T>(work: () => Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work()
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop))
  })
}
