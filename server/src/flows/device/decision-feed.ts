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

export function createDecisionFeed(
  db: Queryable,
  gate: Pick<Gate, 'drop' | 'forgetHints'>,
  heldPolls: Pick<HeldPolls, 'decided' | 'readAll'>,
): DecisionFeed {
  /** Where the next pull continues; null: only decisions from now on. */
  let position: string | null = null
  let history: History | null = null

  return {
    pull: async () => {
      const { deviceCodeIds, position: next, history: current } = await readAnnouncedDecisions(db, position)
      // This process believes no hint of these codes from here on; held polls do not wait until Redis has answered.
      const drops = deviceCodeIds.map((id) => gate.drop(id))
      deviceCodeIds.forEach(heldPolls.decided)
      const lost = history !== null && !isContinued(history, current)
      position = next
      history = current
      // Hints may be about codes that were lost, and decisions made since then were not announced to this process.
      if (lost) {
        gate.forgetHints()
        heldPolls.readAll()
      }
      await Promise.all(drops)
    },
  }
}
