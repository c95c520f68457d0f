/**
 * What the processes know about a promoted PostgreSQL that saw commits confirmed by the one before.
 * docs/decisions/0062-lost-commits-are-proven.md
 */
import { isPromotionOf, judgeCommits, timelineOf, withTimeline } from '../../core/restore/evidence.ts'
import type { Processes } from '../../core/restore/settlement.ts'
import type { ConfirmedCommits } from '../../store/postgres/confirmed-commits.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { attest, countProcesses, findCommits, readPromoted } from '../../store/restore/processes.ts'
import type { Restore } from '../../store/restore/restores.ts'

/** This process, as long as it settles a restore. */
export type Settler = {
  readonly commits: ConfirmedCommits
  /** Since it noticed that there is something to settle. */
  readonly waitedMs: number
}

/** For a command, which saw nothing. */
export const NOBODY_ASKED: Processes = { lost: false, attested: 0, silent: 0, askable: false, waitedMs: 0 }

/** `newest`: the newest recorded restore. */
export async function askProcesses(
  tx: Transaction,
  { commits, waitedMs }: Settler,
  current: string,
  newest: Restore | null,
): Promise<Processes> {
  const promoted = await readPromoted(tx)
  const seen = commits.before(timelineOf(current))
  const histories = seen.map(({ timeline }) => withTimeline(current, timeline))
  const evidence = judgeCommits(timelineOf(current), promoted, await findCommits(tx, seen, histories))
  const { attested, silent } = await countProcesses(tx, commits.processId, current)
  const here = seen.length > 0 && evidence === 'complete' ? 1 : 0
  const askable = promoted && evidence !== 'unknown' && newest !== null && isPromotionOf(newest.history, current)
  return { lost: evidence === 'lost', attested: attested + here, silent, askable, waitedMs }
}

/** Says to the others that it misses none, if it saw any. */
export async function attestCommits(tx: Transaction, { commits }: Settler, current: string): Promise<void> {
  if (commits.before(timelineOf(current)).length > 0) await attest(tx, commits.processId, current)
}
