/** State and completion of a restore, for operators on the command line. */
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { nameOfGap } from '../../core/restore/to-accept.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { type Journal, type JournalReading, readJournals } from '../../store/restore/journal.ts'
import { findLost } from '../../store/restore/lost.ts'
import { finishRestores, type Restore, readRestores, readToAccept } from '../../store/restore/restores.ts'
import { settle } from './settle.ts'

export type RestoreState = {
  /** Null: the service has run on the same history ever since. */
  readonly newest: Restore | null
  /** Names of what an operator has to accept before the restore is finished. */
  readonly toAccept: readonly string[]
  /** Lines of the journals that PostgreSQL does not know and that were not ended again. */
  readonly lost: number
}

/** `files`: journals of other machines. */
export type Journals = { readonly own: Journal | null; readonly files: readonly string[]; readonly keys: Keyset }

export async function checkRestore(db: Postgres, journals: Journals): Promise<RestoreState> {
  const [newest] = await readRestores(db, 1)
  const journal = await read(journals)
  const { lines, toAccept } = await findLost(db, journal)
  const filled = filledGaps(journal)
  const open = (await readToAccept(db)).filter((name) => !filled.has(name))
  return {
    newest: newest && newest.lostSince !== null ? newest : null,
    toAccept: [...new Set([...open, ...toAccept])].toSorted(),
    lost: lines.length,
  }
}

export type FinishedRestore = {
  readonly repeated: Restore['repeated']
  /** How many restores were finished: none, as long as something is left to accept. */
  readonly finished: number
  readonly toAccept: readonly string[]
}

/** `accepted`: names of what the operator has looked at. */
export async function finishRestore(
  db: Postgres,
  journals: Journals,
  accepted: readonly string[],
): Promise<FinishedRestore> {
  const journal = await read(journals)
  const settled = await settle(db, journal, null)
  const filled = filledGaps(journal)
  return db.transaction(async (tx) => {
    const open = (await readToAccept(tx)).filter((name) => !filled.has(name))
    const toAccept = open.filter((name) => !accepted.includes(name))
    const finished = toAccept.length === 0 ? await finishRestores(tx) : 0
    const detail = open.length > 0 ? { accepted: open } : {}
    if (finished > 0) await recordEvent(tx, { kind: 'database.restore_finished', actor: BY_COMMAND_LINE, detail })
    return { repeated: settled && settled !== 'waiting' ? settled.repeated : {}, finished, toAccept }
  })
}

/** Gaps that another file, such as the journal before it was renamed, has filled. */
function filledGaps({ entries, gaps }: JournalReading): ReadonlySet<string> {
  return new Set(entries.map(nameOfGap)).difference(new Set(gaps.map(nameOfGap)))
}

function read({ own, files, keys }: Journals): Promise<JournalReading> {
  return own ? own.read(files) : readJournals(keys, files)
}
