/** Tests that hold the service to a time, on a machine that may stand still: its host may give all processors to others for seconds. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterEach, beforeEach, type TestOptions } from 'vitest'

/** Shorter than every margin of these tests: what a shorter standstill breaks is a fault. */
const STANDSTILL_MS = 250

const STOOD_STILL = 'this process stood still for'

/** Options with which a test that failed runs again if this process stood still meanwhile, and else not. For the file that calls it. */
export function againAfterStandstill(): Pick<TestOptions, 'retry'> {
  const eventLoop = monitorEventLoopDelay({ resolution: 20 })
  eventLoop.enable()
  beforeEach(() => eventLoop.reset())
  // Vitest judges by the message: it drops a function before it asks.
  afterEach(({ task }) => {
    const stoodStillMs = Math.round(eventLoop.max / 1e6)
    const error = task.result?.errors?.at(-1)
    if (error && stoodStillMs > STANDSTILL_MS) error.message += `; ${STOOD_STILL} ${stoodStillMs} ms`
  })
  return { retry: { count: 2, condition: new RegExp(STOOD_STILL) } }
}
