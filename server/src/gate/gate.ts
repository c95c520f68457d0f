/**
 * The gate in front of PostgreSQL: how fast a code is polled, and a short "still pending" hint.
 *
 * `gate/` holds only facts that PostgreSQL holds too or that we may lose at any time. It never decides an outcome: without
 * a hint the row is read, and a lost pace costs one poll that is answered a little too kindly.
 */
export type Gate = {
  /** One authenticated poll of a genuine code arrives. An early poll does not move the clock. */
  poll(id: string, paceMs: number): Promise<GateReply>
  /** PostgreSQL said that the code is pending: polls may be answered from here for so long. A decided code stays decided. */
  hint(id: string, forMs: number): void
  /**
   * The code was decided: every poll must look, and a hint that is still on its way, from a row that was read before the
   * decision, comes too late. Never fails; a drop that the engine did not take is repeated as long as the hint may live.
   */
  drop(id: string): Promise<void>
  /** Whether the shared engine answers; always true where there is none. */
  readonly answers: boolean
  /** How often it did not, since the process started. */
  readonly failures: number
  close(): Promise<void>
}

export type GateReply = {
  /** The last answered poll of this code is less than its pace ago. */
  readonly early: boolean
  /** A hint is alive. */
  readonly pending: boolean
}

/** The longest a decision can go unnoticed when both the drop of its hint and its announcement (flows/device/decision-feed.ts) were lost. */
export const MAX_HINT_MS = 10_000

/** Where honest pollers end up a little early because networks and clocks jitter. */
const TOLERANCE = 0.1

export function paceFor(intervalSeconds: number): number {
  return intervalSeconds * 1000 * (1 - TOLERANCE)
}
