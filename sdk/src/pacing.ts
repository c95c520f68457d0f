/**
 * Delays between two polls of a session. docs/interface/device-flow.md, "Pacing".
 *
 * The service measures the time between the arrivals of two polls. The wait here starts when the previous response was
 * received or given up, so after that poll arrived, and the next poll arrives after the wait is over: whatever the
 * network adds, two polls are never closer than the wait. The margin covers timers that fire early, clocks that run
 * fast, and a request that was given up here and is still on its way.
 */

const MARGIN_SHARE = 0.1
const MIN_MARGIN_MS = 500
/**
 * Added per `slow_down` (RFC 8628, section 3.5). The interval of this service does not grow, but a client that polled
 * too fast once should slow down.
 */
const SLOW_DOWN_MS = 5_000
/** Polling stops at the third `slow_down`: an application that continues may be suspended. */
export const MAX_SLOW_DOWNS = 3
const MAX_BACK_OFF_MS = 60_000

export function pollDelayMs(intervalSeconds: number, slowDowns: number): number {
  const intervalMs = intervalSeconds * 1000 + slowDowns * SLOW_DOWN_MS
  return Math.max(intervalMs * (1 + MARGIN_SHARE), intervalMs + MIN_MARGIN_MS)
}

/** The server holds a poll for at most this long: docs/interface/device-flow.md, "Wait for the decision". */
export const MAX_WAIT_SECONDS = 25
/** Shorter waits save little. */
const MIN_WAIT_SECONDS = 5
/** A proxy that cut a wait would cut the next one at the same time: end before it. */
const BEFORE_CUT_SECONDS = 2
/** Minimum delay after a held response: one that only claims to have been held must not cause a busy loop. */
const MIN_HELD_DELAY_MS = 250

/** Delay after a held response: what is left of the interval, which the service states. */
export function heldDelayMs(retryAfter: number): number {
  return retryAfter === 0 ? MIN_HELD_DELAY_MS : retryAfter * 1000 + MIN_MARGIN_MS
}

/**
 * The wait to request after a held poll failed without a response. The cause may be a proxy's time limit, so the next
 * wait is shorter than `tookMs`, or 0 if that is too short. A fault within the first two seconds is no time limit.
 */
export function waitAfterFault(waitSeconds: number, tookMs: number): number {
  const tookSeconds = Math.floor(tookMs / 1000)
  if (tookSeconds < BEFORE_CUT_SECONDS) return waitSeconds
  const shorter = Math.min(tookSeconds - BEFORE_CUT_SECONDS, waitSeconds)
  return shorter < MIN_WAIT_SECONDS || tookSeconds > waitSeconds ? 0 : shorter
}

/**
 * Back-off after `faults` polls in a row without a response. Never shorter than the regular delay: the service may have
 * counted the poll.
 */
export function faultDelayMs(delayMs: number, faults: number, chance: number): number {
  const longest = Math.max(MAX_BACK_OFF_MS, delayMs)
  return Math.min(delayMs * 2 ** Math.min(faults - 1, 10), longest) * (1 + chance / 4)
}
