/**
 * After a restore of PostgreSQL: finds what the restore undid, ends it again where a journal says so, and records what
 * cannot be known. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { byService } from '../../core/audit/actor.ts'
import { timelineOf } from '../../core/restore/evidence.ts'
import { planReplay } from '../../core/restore/replay.ts'
import { planSettlement } from '../../core/restore/settlement.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { tryLockByName } from '../../store/postgres/advisory-locks.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { type ClosedCounts, closeOpen } from '../../store/restore/closing.ts'
import type { JournalReading } from '../../store/restore/journal.ts'
import { findLost, type Lost, readUnjournalled } from '../../store/restore/lost.ts'
import { settleProcesses } from '../../store/restore/processes.ts'
import {
  insertRestore,
  type Restore,
  readHistoryState,
  readLastActivity,
  readRestores,
  saveRepeated,
} from '../../store/restore/restores.ts'
import type { Context } from '../context.ts'
import { askProcesses, attestCommits, NOBODY_ASKED, type Settler } from './attest.ts'
import { eraseAgain, type RepeatedCounts, repeatEndings } from './repeat.ts'

/** Actor of everything that is ended again. */
const BY_RESTORE = byService('restore')

/** While another process settles: number of attempts, and the pause between them. */
const TRIES = 300
const TRY_EVERY_MS = 200

type Settling = Pick<Context, 'db' | 'journal' | 'events' | 'commits'>

/** Before a process serves requests: waits for the processes that run already. */
export async function settleBeforeServing(context: Settling): Promise<void> {
  const noticedAt = performance.now()
  while (!(await settleRestore(context, 'newest', performance.now() - noticedAt))) await sleep(TRY_EVERY_MS)
}

/**
 * Called when a process starts, and when it notices that PostgreSQL was started, failed over or restored. False: other
 * processes may still say that nothing was lost; to be called again. `waitedMs`: since the first call.
 */
export async function settleRestore(
  context: Settling,
  compared: 'newest' | 'all' = 'newest',
  waitedMs = 0,
): Promise<boolean> {
  const { db, journal, commits } = context
  const { current, known } = await readHistoryState(db)
  if (current === null) return true
  const isNew = current !== known || compared === 'all' || commits.before(timelineOf(current)).length > 0
  const end = !isNew && journal ? await findLost(db, await journal.readEnd()) : null
  if (end && end.unproven > 0) context.events.journalUnproven(end.unproven)
  if (isNew || (end && end.lines.length > 0)) {
    const settled = await settle(db, journal ? await journal.read() : NO_JOURNAL, { commits, waitedMs })
    commits.settle(timelineOf(current))
    if (settled === 'waiting') return false
    if (settled) context.events.restored(settled.repeated, settled.toAccept)
  }
  await completeJournal(context)
  return true
}

/** Adds what was committed and not written: the process died in between, or the commit was not confirmed. */
export async function completeJournal({ db, journal }: Pick<Context, 'db' | 'journal'>): Promise<void> {
  await journal?.complete(() => readUnjournalled(db, journal))
}

/** Whether PostgreSQL has another history than the recorded one. Costs one small query. */
export async function hasNewHistory(db: Postgres): Promise<boolean> {
  const { current, known } = await readHistoryState(db)
  return current !== null && current !== known
}

const NO_JOURNAL: JournalReading = { entries: [], unproven: [], gaps: [], retiredKeys: [] }

type SettledRestore = {
  readonly repeated: RepeatedCounts
  /** Names of what an operator has to accept; without those of earlier calls. */
  readonly toAccept: readonly string[]
}

/** Null: there is nothing to repeat, or another process has done it meanwhile. */
type Settled = SettledRestore | 'waiting' | null

/**
 * `settler`: null for a command. What has to be closed is closed before the restore is recorded: an attempt that fails is
 * repeated.
 */
export async function settle(db: Postgres, journal: JournalReading, settler: Settler | null): Promise<Settled> {
  await eraseAgain(db, BY_RESTORE, planReplay((await findLost(db, journal)).lines).erasedUsers)
  for (let closed: ClosedCounts | null = null; ; closed = await closeOpen(db)) {
    const settled = await inTurn(db, (tx) => settleLocked(tx, journal, settler, closed))
    if (settled !== 'close') return settled
  }
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

/** `closed`: null if nothing was closed yet; then `close` is returned where something has to be. */
async function settleLocked(
  tx: Transaction,
  journal: JournalReading,
  settler: Settler | null,
  closed: ClosedCounts | null,
): Promise<Settled | 'close'> {
  const { current } = await readHistoryState(tx)
  if (current === null) return null
  const [newest = null] = await readRestores(tx, 1)
  const lost = await findLost(tx, journal)
  const journalled = journal.entries.length > 0
  const hasLost = lost.lines.length > 0
  const hasOpen = lost.toAccept.some((name) => !newest?.toAccept.includes(name))
  const processes = settler ? await askProcesses(tx, settler, current, newest) : NOBODY_ASKED
  const { at: lastActiveAt, now } = await readLastActivity(tx)
  const found = { current, newest, hasLost, hasOpen, journalled, processes, lastActiveAt, now }
  const plan = planSettlement(found)
  if (plan === null) return null
  if (plan === 'wait') {
    if (settler) await attestCommits(tx, settler, current)
    return 'waiting'
  }
  if (plan.closes && closed === null) return 'close'
  const restore = plan.record ? await insertRestore(tx, { history: current, journalled, ...plan.record }) : newest
  const repeated = restore === null || restore.finished ? null : await repeat(tx, lost, restore, closed)
  await settleProcesses(tx, current)
  return repeated
}

const NOTHING_CLOSED: ClosedCounts = { codes: 0, dialogs: 0, sessions: 0 }

async function repeat(
  tx: Transaction,
  lost: Lost,
  restore: Restore,
  closed: ClosedCounts | null,
): Promise<SettledRestore> {
  const ended = await repeatEndings(tx, BY_RESTORE, planReplay(lost.lines))
  const counts = { ...ended.counts, ...(closed ?? NOTHING_CLOSED) }
  const before = restore.repeated
  const sum = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, (before[name] ?? 0) + count]))
  const journalled = lost.lines.length > 0
  const toAccept = [...lost.toAccept, ...ended.withoutAdministrator.map((id) => `account.without_administrator:${id}`)]
  const saved = { repeated: sum, journalled, closed: closed !== null, toAccept, settled: lost.settles }
  await saveRepeated(tx, restore.id, saved)
  const detail = { lostSince: restore.lostSince, journalled: restore.journalled || journalled, ...counts, toAccept }
  await recordEvent(tx, { kind: 'database.restored', actor: BY_RESTORE, detail })
  return { repeated: counts, toAccept }
}
