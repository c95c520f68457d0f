/**
 * How a decision that was made elsewhere, in another process or on the command line, reaches this one: each pull drops the gate's
 * hints for the codes that were decided since the last, so their next poll reads the row. Announcements may be lost, repeated or
 * out of order, because they only ever lead to a read. docs/decisions/0026-decisions-are-announced-by-the-audit-log.md.
 */
import type { Gate } from '../../gate/gate.ts'
import { readAnnouncedDecisions } from '../../store/device/decision-feed.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

export type DecisionFeed = { pull(): Promise<void> }

/**
 * A transaction that has run for longer is none of this service's decisions, and the feed does not wait for it: otherwise every
 * pull would read all decisions since it began.
 */
const MAX_TRANSACTION_MS = 30_000

export function createDecisionFeed(
  db: Queryable,
  gate: Pick<Gate, 'drop'>,
  monotonicMs: () => number = () => performance.now(),
): DecisionFeed {
  /** Where the next pull starts; null: at what is decided from now on. */
  let from: bigint | null = null
  /** Where the feed stood at `markedAt`, and a while before that. */
  let marked = 0n
  let markedBefore = 0n
  let markedAt = Number.NEGATIVE_INFINITY

  return {
    pull: async () => {
      const now = monotonicMs()
      const { deviceCodeIds, oldestRunning, next } = await readAnnouncedDecisions(db, from)
      await Promise.all(deviceCodeIds.map((id) => gate.drop(id)))
      // Numbers that go back are those of another PostgreSQL, promoted with less than the old one knew.
      const promoted = from !== null && next < from
      if (promoted || now - markedAt >= MAX_TRANSACTION_MS) {
        markedBefore = promoted ? 0n : marked
        marked = next
        markedAt = now
      }
      from = oldestRunning > markedBefore ? oldestRunning : markedBefore
    },
  }
}
