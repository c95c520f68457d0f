/**
 * Gate in front of PostgreSQL: the pace of each device code, and a short "still pending" hint.
 *
 * `gate/` holds only facts that PostgreSQL holds too or that may be lost at any time. It never decides an outcome:
 * without a hint the row is read, and a lost pace lets one early poll pass.
 */
export type Gate = {
  /** Registers an authenticated poll of a genuine code. An early poll does not restart the pace. */
  poll(id: string, paceMs: number): Promise<GateReply>
  /** PostgreSQL returned the code as pending: polls may be answered from the gate for `forMs`. Ignored after a drop. */
  hint(id: string, forMs: number): void
  /**
   * The code was decided: every poll must read the row. A hint still in flight, from a row read before the decision, is
   * ignored. Never fails; a drop that the engine did not accept is retried for as long as the hint may live.
   */
  drop(id: string): Promise<void>
  /** PostgreSQL may have lost codes: no hint left so far is believed, so that each code's next poll reads its row. */
  forgetHints(): void
  /** Whether Redis answers; always true without Redis. */
  readonly answers: boolean
  /** Failures of Redis since the process started. */
  readonly failures: number
  close(): Promise<void>
}

export type GateReply = {
  /** The pace since the last answered poll of this code is not over. */
  readonly early: boolean
  /** A hint exists. */
  readonly pending: boolean
}

/**
 * Longest delay of a decision when both the drop of its hint and its announcement (flows/device/decision-feed.ts) are
 * lost.
 */
export const MAX_HINT_MS = 10_000

/** Jitter of networks and clocks makes honest clients poll a little early. */
const TOLERANCE = 0.1

export function paceFor(intervalSeconds: number): number {
  return intervalSeconds * 1000 * (1 - TOLERANCE)
}
