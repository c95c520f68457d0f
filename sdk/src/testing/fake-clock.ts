/** A clock that stands still, and jumps when there is something to be had by waiting: minutes of polling take no time. */
import type { Clock } from '../clock.ts'
import { LatchkeyError } from '../errors.ts'

/**
 * Time for tests. It jumps over a client's waiting once the user has decided, or after a fault, so nothing has to be done
 * about it. While there is nothing to collect it stands still until `advance`.
 */
export interface FakeClock extends Clock {
  /** Lets time pass, and wakes whoever waited for it, in order. */
  advance(ms: number): Promise<void>
}

/** `busy`: a request is under way. `worthwhile`: waiting would lead to something. */
export type FakeOccasion = { busy(): boolean; worthwhile(): boolean }

/** Taken before a test runner puts timers of its own in their place: this clock must not stand still with those. */
const { setTimeout: later } = globalThis

type Sleeper = { readonly dueAt: number; wake(): void }

/** `jump` is called when waiting may have become worthwhile. */
export function createFakeClock(startAt: number, { busy, worthwhile }: FakeOccasion): FakeClock & { jump(): void } {
  let now = startAt
  let sleepers: readonly Sleeper[] = []
  let jumping = false

  const turn = () => new Promise<void>((resolve) => later(resolve, 1))

  /** Whoever was woken or answered has had the time to go on to its next wait. */
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
        if (signal?.aborted) return reject(new LatchkeyError('aborted'))
        const stop = () => {
          sleepers = sleepers.filter((each) => each !== sleeper)
          reject(new LatchkeyError('aborted'))
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
