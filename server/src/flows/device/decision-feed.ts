/**
 * Decision feed: brings decisions made in another process or on the command line to this one. Each pull drops the
 * gate's hints for the codes decided since the last pull and wakes their held polls, so that the row is read.
 * Announcements may be lost, repeated or out of order, because they only ever lead to a read.
 * docs/decisions/0026-decisions-are-announced-by-the-audit-log.md.
 */
import type { Gate } from '../../gate/gate.ts'
import { readAnnouncedDecisions } from '../../store/device/decision-feed.ts'
import { type History, isContinued } from '../../store/postgres/history.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import type { HeldPolls } from './held-polls.ts'

export type DecisionFeed = { pull(): Promise<void> }

/**
 * No decision takes a transaction this long, so the feed does not wait for older ones: otherwise every pull would read
 * all decisions since such a transaction began.
 */
const MAX_TRANSACTION_MS = 30_000

export function createDecisionFeed(
  db: Queryable,
  gate: Pick<Gate, 'drop' | 'forgetHints'>,
  heldPolls: Pick<HeldPolls, 'decided' | 'readAll'>,
  monotonicMs: () => number = () => performance.now(),
): DecisionFeed {
  /** Transaction number from which the next pull reads; null: only decisions from now on. */
  let from: bigint | null = null
  let history: History | null = null
  /** The next transaction number as of `markedAt`, and as of the mark before, at least MAX_TRANSACTION_MS earlier. */
  let marked = 0n
  let markedBefore = 0n
  let markedAt = Number.NEGATIVE_INFINITY

  return {
    pull: async () => {
      const now = monotonicMs()
      const { deviceCodeIds, oldestRunning, history: current } = await readAnnouncedDecisions(db, from)
      // This process believes no hint of these codes from here on; held polls do not wait until Redis has answered.
      const drops = deviceCodeIds.map((id) => gate.drop(id))
      deviceCodeIds.forEach(heldPolls.decided)
      const lost = history !== null && !isContinued(history, current)
      history = current
      // Hints may be about codes that were lost, and decisions made since then were not announced to this process.
      if (lost) {
        gate.forgetHints()
        heldPolls.readAll()
      }
      if (lost || now - markedAt >= MAX_TRANSACTION_MS) {
        markedBefore = lost ? 0n : marked
        marked = current.nextXid
        markedAt = now
      }
      from = oldestRunning > markedBefore ? oldestRunning : markedBefore
      await Promise.all(drops)
    },
  }
}
