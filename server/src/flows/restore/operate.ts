/** State and completion of a restore, for operators on the command line. */
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import type { JournalLine } from '../../core/restore/journal-line.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { type Journal, readJournal } from '../../store/restore/journal.ts'
import { findLost } from '../../store/restore/lost.ts'
import { finishRestores, type Restore, readRestores } from '../../store/restore/restores.ts'
import type { Context } from '../context.ts'
import { settle } from './settle.ts'

export type RestoreState = {
  /** Null: the service has run on the same history ever since. */
  readonly newest: Restore | null
  /** Lines of the journals that PostgreSQL does not know and that were not ended again. */
  readonly lost: number
}

/** `files`: journals of other machines. */
export async function checkRestore(
  { db, journal }: Pick<Context, 'db' | 'journal'>,
  files: readonly string[],
): Promise<RestoreState> {
  const [newest] = await readRestores(db, 1)
  let lost = 0
  for (const lines of await readJournals(journal, files)) lost += (await findLost(db, lines)).length
  return { newest: newest && newest.lostSince !== null ? newest : null, lost }
}

export type FinishedRestore = { readonly repeated: Restore['repeated']; readonly finished: number }

export async function finishRestore(
  context: Pick<Context, 'db' | 'journal'>,
  files: readonly string[],
): Promise<FinishedRestore> {
  const repeated: Record<string, number> = {}
  for (const lines of await readJournals(context.journal, files)) {
    for (const [name, count] of Object.entries((await settle(context.db, lines)) ?? {})) {
      repeated[name] = (repeated[name] ?? 0) + count
    }
  }
  const finished = await context.db.transaction(async (tx) => {
    const count = await finishRestores(tx)
    if (count > 0) await recordEvent(tx, { kind: 'database.restore_finished', actor: BY_COMMAND_LINE })
    return count
  })
  return { repeated, finished }
}

async function readJournals(
  own: Journal | null,
  files: readonly string[],
): Promise<readonly (readonly JournalLine[])[]> {
  return Promise.all([...(own ? [own.path] : []), ...files].map(readJournal))
}
