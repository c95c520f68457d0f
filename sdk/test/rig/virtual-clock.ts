/** A virtual clock that advances only when all code sleeps. Hours of polling take as long as their work. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../src/index.ts'

type Sleeper = { at: number; readonly wake: () => void }

export class VirtualClock implements Clock {
  #now = 1_700_000_000_000
  /** Sorted by wake-up time, the latest first. */
  readonly #sleepers: Sleeper[] = []

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const wake = () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }
      const sleeper = { at: this.#now + Math.max(0, ms), wake }
      const stop = () => {
        const place = this.#sleepers.indexOf(sleeper)
        if (place >= 0) this.#sleepers.splice(place, 1)
        reject(signal?.reason)
      }
      let [low, high] = [0, this.#sleepers.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if ((this.#sleepers[middle]?.at ?? 0) > sleeper.at) low = middle + 1
        else high = middle
      }
      this.#sleepers.splice(low, 0, sleeper)
      signal?.addEventListener('abort', stop)
    })
  }

  /** Sets the wall clock; sleeps are not affected. */
  set(now: number): void {
    const by = now - this.#now
    this.#now = now
    for (const sleeper of this.#sleepers) sleeper.at += by
  }

  /** Advances until the work is done. */
  async during<T>(work: Promise<T>): Promise<T> {
    let done = false
    const finished = () => {
      done = true
    }
    work.then(finished, finished)
    while (!done) {
      // Between two sleeps there are only promises, so one turn of the event loop completes them.
      await turn()
      if (!done) this.#wakeNext()
    }
    return work
  }

  /** Advances by this much. */
  async pass(ms: number): Promise<void> {
    await this.during(this.sleep(ms))
    await turn()
  }

  #wakeNext(): void {
    const next = this.#sleepers.pop()
    if (!next) throw new Error('everybody waits for something that no clock will bring')
    this.#now = next.at
    next.wake()
    while (this.#sleepers.at(-1)?.at === next.at) this.#sleepers.pop()?.wake()
  }
}
