/**
 * What a client can know of a code's pace. The gate records a poll at some moment between its first and last byte, so the
 * next poll is early, is not early, or, near the boundary, may be either.
 */

/** POLL_INTERVAL=1, less the tolerance of 10 %. */
const PACE_MS = 900

/** Redis counts in whole milliseconds, and the two clocks are not read at the same instant. */
const SLACK_MS = 10

export type Early = 'yes' | 'no' | 'either'

type Span = { readonly from: number; readonly to: number }

export class Pace {
  #taken: Span | 'unknown' | null = null

  /** Of a poll that was sent and answered at these moments. */
  judge(poll: Span): Early {
    if (this.#taken === null) return 'no'
    if (this.#taken === 'unknown') return 'either'
    if (poll.from - this.#taken.to > PACE_MS + SLACK_MS) return 'no'
    return poll.to - this.#taken.from < PACE_MS - SLACK_MS ? 'yes' : 'either'
  }

  /** Just long enough that the next poll is certainly not early, so that a restarted pace would be noticed. */
  waitMs(now: number): number {
    if (this.#taken === null) return 0
    const since = this.#taken === 'unknown' ? now : this.#taken.to
    return Math.max(0, since + PACE_MS + 2 * SLACK_MS - now)
  }

  /** An early poll does not restart the pace; every other one does. */
  polled(poll: Span, early: Early): void {
    if (early === 'no') this.#taken = poll
    if (early === 'either') this.#taken = 'unknown'
  }
}
