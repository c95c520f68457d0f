/**
 * How long a session waits between two polls. docs/interface.md, "Pacing".
 *
 * The service measures from poll to poll as they arrive there. A wait that starts when the last answer has come back, or was
 * given up, starts after that poll arrived, and the next one arrives after the wait is over: whatever the network adds, the two
 * are never closer than the wait. The margin is for timers that fire early, for clocks that run fast, and for a request
 * that was given up here and is still on its way there.
 */

const MARGIN_SHARE = 0.1
const MIN_MARGIN_MS = 500
/** RFC 8628, section 3.5. This service's interval does not grow; who was too fast for it once has a reason to be slower. */
const SLOW_DOWN_MS = 5_000
/** The third is one too many: an application that goes on may be suspended. */
export const MAX_SLOW_DOWNS = 3
const MAX_BACK_OFF_MS = 60_000

export function pollDelayMs(intervalSeconds: number, slowDowns: number): number {
  const intervalMs = intervalSeconds * 1000 + slowDowns * SLOW_DOWN_MS
  return Math.max(intervalMs * (1 + MARGIN_SHARE), intervalMs + MIN_MARGIN_MS)
}

/** After `faults` polls in a row without an answer. Never shorter than a poll's own wait: the service may have counted it. */
export function faultDelayMs(delayMs: number, faults: number, chance: number): number {
  const longest = Math.max(MAX_BACK_OFF_MS, delayMs)
  return Math.min(delayMs * 2 ** Math.min(faults - 1, 10), longest) * (1 + chance / 4)
}
