/**
 * Decision feed: brings decisions made in another process or on the command line to this one. Each pull drops the
 * gate's hints for the codes decided since the last pull, so that their next poll reads the row. Announcements may be
 * lost, repeated or out of order, because they only ever lead to a read.
 * docs/decisions/0026-decisions-are-announced-by-the-audit-log.md.
 */
import type { Gate } from '../../gate/gate.ts'
import { readAnnouncedDecisions } from '../../store/device/decision-feed.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

export type DecisionFeed = { pull(): Promise<void> }

/**
 * No decision takes a transaction this long, so the feed does not wait for older ones: otherwise every pull would read
 * all decisions since such a transaction began.
 */
const MAX_TRANSACTION_MS = 30_000

export function createDecisionFeed(
  db: Queryable,
  gate: Pick<Gate, 'drop'>,
  monotonicMs: () => number = () => performance.now(),
): DecisionFeed {
  /** Transaction number from which the next pull reads; null: only decisions from now on. */
  let from: bigint | null = null
  /** The next transaction number as of `markedAt`, and as of the mark before, at least MAX_TRANSACTION_MS earlier. */
  let marked = 0n
  let markedBefore = 0n
  let markedAt = Number.NEGATIVE_INFINITY

  return {
    pull: async () => {
      const now = monotonicMs()
      const { deviceCodeIds, oldestRunning, next } = await readAnnouncedDecisions(db, from)
      await Promise.all(deviceCodeIds.map((id) => gate.drop(id)))
      // Numbers that go backwards: a standby was promoted that lacks the old primary's last transactions.
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
