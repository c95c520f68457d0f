/**
 * Fake clock: stands still, and jumps when waiting would lead to an outcome, so that minutes of polling take no time.
 */
import type { Clock } from '../clock.ts'

/**
 * Clock for tests. It skips a client's waits by itself once the user has decided, or after a fault. Otherwise it stands
 * still until `advance`.
 */
export interface FakeClock extends Clock {
  /** Moves the time forward by `ms`, and wakes the sleepers that are due, in order. */
  advance(ms: number): Promise<void>
}

/** `busy`: a request is in progress. `worthwhile`: waiting would lead to an outcome. */
export type FakeOccasion = { busy(): boolean; worthwhile(): boolean }

/** The real `setTimeout`, captured before a test runner installs fake timers: this clock must not stop with those. */
const { setTimeout: realSetTimeout } = globalThis

type Sleeper = { readonly dueAt: number; wake(): void }

/** Call `jump` when waiting may have become worthwhile. */
export function createFakeClock(startAt: number, { busy, worthwhile }: FakeOccasion): FakeClock & { jump(): void } {
  let now = startAt
  let sleepers: readonly Sleeper[] = []
  let jumping = false

  const turn = () => new Promise<void>((resolve) => realSetTimeout(resolve, 1))

  /** Waits until clients that were woken or answered have had time to reach their next wait. */
  async function quiet(): Promise<void> {
    for (let idle = 0; idle < 2; ) {
      await turn()
      idle = busy() ? 0 : idle + 1
    }
  }

  function wakeFirst(latest: number): boolean {
    const [first] = [...sleepers].sort((one, other) => one.dueAt - other.dueAt)
    if (!first || first.dueAt > latest) return false
    sleepers = sleepers.filter((each) => each !== first)
    now = Math.max(now, first.dueAt)
    first.wake()
    return true
  }

  async function jump(): Promise<void> {
    if (jumping) return
    jumping = true
    while (sleepers.length > 0 && worthwhile()) {
      await quiet()
      if (worthwhile()) wakeFirst(Number.POSITIVE_INFINITY)
    }
    jumping = false
  }

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const stop = () => {
          sleepers = sleepers.filter((each) => each !== sleeper)
          reject(signal?.reason)
        }
        const wake = () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        }
        const sleeper: Sleeper = { dueAt: now + Math.max(0, ms), wake }
        signal?.addEventListener('abort', stop, { once: true })
        sleepers = [...sleepers, sleeper]
        void jump()
      }),
    advance: async (ms) => {
      await quiet()
      const end = now + ms
      while (wakeFirst(end)) await quiet()
      now = Math.max(now, end)
    },
    jump: () => void jump(),
  }
}
