/**
 * After a restore of PostgreSQL: finds what the restore undid, ends it again where a journal says so, and records what
 * cannot be known. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { byService } from '../../core/audit/actor.ts'
import type { JournalLine } from '../../core/restore/journal-line.ts'
import { planReplay } from '../../core/restore/replay.ts'
import { planSettlement } from '../../core/restore/settlement.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { tryLockByName } from '../../store/postgres/advisory-locks.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { closeCodes, closeSessions, markIssued } from '../../store/restore/closing.ts'
import { findLost, readUnjournalled } from '../../store/restore/lost.ts'
import {
  insertRestore,
  type Restore,
  readHistoryState,
  readLastActivity,
  readRestores,
  saveRepeated,
} from '../../store/restore/restores.ts'
import type { Context } from '../context.ts'
import { eraseAgain, type RepeatedCounts, repeatEndings } from './repeat.ts'

/** Actor of everything that is ended again. */
export const BY_RESTORE = byService('restore')

/** While another process settles: number of attempts, and the pause between them. */
const TRIES = 300
const TRY_EVERY_MS = 200

type Settling = Pick<Context, 'db' | 'journal' | 'events'>

/** Called before a process serves requests, and when it notices that PostgreSQL was started, failed over or restored. */
export async function settleRestore(context: Settling, compared: 'newest' | 'all' = 'newest'): Promise<void> {
  const { db, journal } = context
  const { current, known } = await readHistoryState(db)
  if (current === null) return
  const isNew = current !== known || compared === 'all'
  if (isNew || (journal !== null && (await findLost(db, await journal.readEnd())).length > 0)) {
    const repeated = await settle(db, journal ? await journal.read() : [])
    if (repeated) context.events.restored(repeated)
  }
  await completeJournal(context)
}

/** Adds what was committed and not written: the process died in between, or the commit was not confirmed. */
export async function completeJournal({ db, journal }: Pick<Context, 'db' | 'journal'>): Promise<void> {
  await journal?.complete(() => readUnjournalled(db, journal))
}

/** For a running process: settles only if PostgreSQL has another history. Costs one small query. */
export async function settleNewHistory(context: Settling): Promise<void> {
  const { current, known } = await readHistoryState(context.db)
  if (current !== null && current !== known) await settleRestore(context)
}

/** `lines`: of one journal. Returns null if there is nothing to repeat, or another process has done it meanwhile. */
export async function settle(db: Postgres, lines: readonly JournalLine[]): Promise<RepeatedCounts | null> {
  await eraseAgain(db, BY_RESTORE, planReplay(await findLost(db, lines)).erasedUsers)
  return inTurn(db, (tx) => settleLocked(tx, lines))
}

/** One process at a time. */
async function inTurn<T>(db: Postgres, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    if (attempt > 0) await sleep(TRY_EVERY_MS)
    const done = await db.transaction(async (tx) =>
      (await tryLockByName(tx, 'restoring')) ? { result: await work(tx) } : null,
    )
    if (done) return done.result
  }
  throw new Error('another process has been settling the restore for a minute')
}

async function settleLocked(tx: Transaction, lines: readonly JournalLine[]): Promise<RepeatedCounts | null> {
  const { current } = await readHistoryState(tx)
  if (current === null) return null
  const [newest = null] = await readRestores(tx, 1)
  const lost = await findLost(tx, lines)
  const journalled = lines.length > 0
  const { at: lastActiveAt, now } = await readLastActivity(tx)
  const plan = planSettlement({ current, newest, hasLost: lost.length > 0, journalled, lastActiveAt, now })
  if (plan === null) return null
  const restore = plan.record ? await insertRestore(tx, { history: current, journalled, ...plan.record }) : newest
  if (restore === null || restore.finished) return null
  const closed = plan.closes ? await closeCodes(tx) : null
  return repeat(tx, lost, restore, closed)
}

type ClosedCodes = Awaited<ReturnType<typeof closeCodes>>

/** In the lock order: codes, accounts, users, sessions, applications, grants. */
async function repeat(
  tx: Transaction,
  lost: readonly JournalLine[],
  restore: Restore,
  closed: ClosedCodes | null,
): Promise<RepeatedCounts> {
  const counts = await repeatEndings(tx, BY_RESTORE, planReplay(lost), async () => {
    if (closed === null) return { codes: 0, dialogs: 0, sessions: 0 }
    return { codes: closed.codes, dialogs: closed.dialogs, sessions: await closeSessions(tx) }
  })
  await markIssued(tx, closed?.grantIds ?? [])
  const before = restore.repeated
  const sum = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, (before[name] ?? 0) + count]))
  await saveRepeated(tx, restore.id, sum, lost.length > 0)
  const detail = { lostSince: restore.lostSince, journalled: restore.journalled || lost.length > 0, ...counts }
  await recordEvent(tx, { kind: 'database.restored', actor: BY_RESTORE, detail })
  return counts
}
