/**
 * Real time with short waits between polls: for codes that are already decided, where pacing does not matter.
 * Time limits are unchanged.
 */
import { systemClock } from '../../src/clock.ts'
import type { Clock } from '../../src/index.ts'

const SHORTER = 20
const MAX_WAIT_MS = 7_000

export const hastyClock: Clock = {
  now: systemClock.now,
  sleep: (ms, signal) => systemClock.sleep(ms < MAX_WAIT_MS ? ms / SHORTER : ms, signal),
}
