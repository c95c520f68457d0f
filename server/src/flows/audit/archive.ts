/**
 * Archiving of the oldest month of the audit log: writes a file with a signed record, reads it back, stores the record,
 * and only then drops the month's partitions. Recording of events never waits for it. An interrupted run is resumed by
 * running it again.
 * docs/decisions/0029-the-audit-log-is-archived-by-month.md
 */
import { stat } from 'node:fs/promises'
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { type ArchiveRecord, isSigned, signArchive } from '../../secrets/audit-archive.ts'
import { NO_SEAL } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import { insertArchive, lockArchiving, readArchives, readArchivingFacts } from '../../store/audit/archives.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  type AuditPartition,
  countRows,
  detachPartition,
  dropDetached,
  listAuditPartitions,
} from '../../store/audit/partitions.ts'
import { readLastSeal, readMonthOfChain, readSeal } from '../../store/audit/seals.ts'
import type { Postgres, Queryable } from '../../store/postgres/postgres.ts'
import { ArchiveWriter, verifyArchive } from './archive-file.ts'
import type { Link } from './explain-break.ts'

export type ArchiveOutcome =
  | { readonly outcome: 'nothing' }
  /** `more`: further months that can be archived. */
  | { readonly outcome: 'archived'; readonly record: ArchiveRecord; readonly more: readonly string[] }
  | { readonly outcome: 'refused'; readonly reason: string }
  /** The log, or the record of an earlier archive, does not match its seals or signature. */
  | { readonly outcome: 'tampered'; readonly reason: string }

type Archiving = {
  /**
   * A single connection of the database owner: it holds the session lock, and detaching a partition cannot run in a
   * transaction.
   */
  readonly session: Queryable
  readonly db: Postgres
  readonly keys: Keyset
}

type Month = {
  readonly month: string
  /** Of the events, then of the seals; only those not yet dropped. */
  readonly partitions: readonly AuditPartition[]
  readonly record: ArchiveRecord | null
}

const BATCH = 2_000

/** Aborts the run with a reason for the operator. */
class Stopped extends Error {
  readonly outcome: 'refused' | 'tampered'

  constructor(outcome: 'refused' | 'tampered', reason: string) {
    super(reason)
    this.outcome = outcome
  }
}

/** `before` is a month such as 2026-11, exclusive. */
export async function archiveAudit(
  archiving: Archiving,
  { before, file }: { readonly before: string; readonly file: string },
): Promise<ArchiveOutcome> {
  try {
    const months = await listMonths(archiving, before)
    for (const [index, month] of months.entries()) {
      if (!month.record && (await isEmpty(archiving.session, month))) {
        await dropMonth(archiving.session, month, 0)
        continue
      }
      const record = await keep(archiving, month, file)
      await dropMonth(archiving.session, month, record.events)
      return { outcome: 'archived', record, more: months.slice(index + 1).map((each) => each.month) }
    }
    return { outcome: 'nothing' }
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
    return { outcome: error.outcome, reason: error.message }
  }
}

async function listMonths({ session, keys }: Archiving, before: string): Promise<readonly Month[]> {
  const { role, owner, month: current } = await readArchivingFacts(session)
  if (!owner) {
    const reason = `The role ${role} does not own the audit log. Give the owner’s DATABASE_URL for this command, as for "latchkey migrate".`
    throw new Stopped('refused', reason)
  }
  if (before > current) throw new Stopped('refused', `${current} is not over: --before takes ${current} at the latest.`)
  if (!(await lockArchiving(session))) throw new Stopped('refused', 'Another "latchkey audit archive" is running.')
  const archives = await readArchives(session)
  for (const record of archives) demandSigned(keys, record)
  const partitions = (await listAuditPartitions(session)).filter(({ month }) => month < before)
  return [...Map.groupBy(partitions, ({ month }) => month)].map(([month, own]) => ({
    month,
    partitions: own,
    record: archives.find((record) => record.month === month) ?? null,
  }))
}

function demandSigned(keys: Keyset, record: ArchiveRecord): void {
  const signed = isSigned(keys, record)
  if (signed) return
  if (signed === null) throw new Stopped('refused', keyMissing(record.keyId))
  throw new Stopped('tampered', `The record of the archive of ${record.month} was changed since it was signed.`)
}

function keyMissing(keyId: number): string {
  return `Key ${keyId} is not in LATCHKEY_KEYS. Add it, at the end, for this command.`
}

async function isEmpty(session: Queryable, { partitions }: Month): Promise<boolean> {
  for (const partition of partitions) if ((await countRows(session, partition)) > 0) return false
  return true
}

/** Ensures that the month is in the file and its record in the database. */
async function keep(archiving: Archiving, month: Month, file: string): Promise<ArchiveRecord> {
  const { keys } = archiving
  const kept = await readKept(keys, month.month, file)
  const { record } = month
  if (record && kept && equalSecrets(kept.mac, record.mac)) return record
  if (month.partitions.length < 2 || month.partitions.some(({ state }) => state !== 'attached')) {
    const reason = `${month.month} was archived, and what is left of it is to be taken out: give the file that it was archived to. ${file} is not it.`
    throw new Stopped('refused', reason)
  }
  await demandSealed(archiving, month)
  const written = await write(archiving, month, file)
  if (record) return record
  await archiving.db.transaction(async (tx) => {
    await insertArchive(tx, written)
    const detail = { format: 'archive', rows: written.events }
    await recordEvent(tx, { kind: 'audit.exported', actor: BY_COMMAND_LINE, detail })
  })
  return written
}

/** The record of a file from an earlier run; null if there is no file. */
async function readKept(keys: Keyset, month: string, file: string): Promise<ArchiveRecord | null> {
  const there = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new Stopped('refused', `${file} cannot be written: ${error.message}.`)
  })
  if (!there) return null
  const { record } = await verifyArchive(file, keys, null)
  if (record?.month === month) return record
  throw new Stopped('refused', `${file} is there already, and is not the archive of ${month}.`)
}

async function demandSealed({ session }: Archiving, { month, partitions }: Month): Promise<void> {
  const [events = 0, seals = 0] = [...(await Promise.all(partitions.map((each) => countRows(session, each))))]
  if (events > seals)
    throw new Stopped('refused', `${events - seals} entries of ${month} are not sealed yet. Is the service running?`)
  if (events < seals)
    throw new Stopped('tampered', `Entries of ${month} were removed. "latchkey audit verify" says which.`)
  const last = await readLastSeal(session)
  if (last && monthOf(last.eventAt) === month) {
    throw new Stopped(
      'refused',
      `The chain ends in ${month}: it goes on with the newest seal, which stays until there is a newer one.`,
    )
  }
}

function monthOf(us: string): string {
  return new Date(Number(us) / 1000).toISOString().slice(0, 7)
}

/** Writes the archive and verifies it by reading it back. */
async function write({ session, keys }: Archiving, { month, record }: Month, file: string): Promise<ArchiveRecord> {
  const writer = await ArchiveWriter.create(file).catch((error: Error) => {
    throw new Stopped('refused', `${file} cannot be written: ${error.message}.`)
  })
  try {
    await writeChain(session, writer, month)
    const content = writer.content(month)
    if (record && !equalSecrets(content.sha256, record.sha256)) {
      const reason = `${month} is not any more what was archived of it. "latchkey audit verify" says where.`
      throw new Stopped('tampered', reason)
    }
    const part = await writer.finish(record ?? signArchive(keys.signing, content))
    const { problem, record: written } = await verifyArchive(part, keys, null)
    if (problem?.kind === 'key_missing') throw new Stopped('refused', keyMissing(problem.keyId))
    if (!written) {
      const reason = `${month} is not as it was sealed. "latchkey audit verify" says where; nothing was taken out.`
      throw new Stopped('tampered', reason)
    }
    await writer.putInPlace()
    return written
  } finally {
    await writer.close()
  }
}

async function writeChain(session: Queryable, writer: ArchiveWriter, month: string): Promise<void> {
  const archived = await readArchives(session)
  const previous = async (position: number): Promise<Buffer | null> => {
    if (position === 1) return NO_SEAL
    const before = await readSeal(session, position - 1)
    const run = archived.flatMap(({ runs }) => runs).find(({ to }) => to === position - 1)
    return before?.hash ?? run?.hash ?? null
  }
  let after = 0
  for (;;) {
    const links = await readMonthOfChain(session, boundsOf(month), after, BATCH)
    const whole = links.filter((link): link is Link => link.entry !== null && link.entry.xid === link.xid)
    const missed = whole.length < links.length ? links.find((link) => link.entry?.xid !== link.xid)?.position : null
    const broken = missed ?? (await writer.write(whole, previous))
    if (broken !== null)
      throw new Stopped(
        'tampered',
        `Position ${broken} of the chain is not as it was sealed. "latchkey audit verify" says more.`,
      )
    if (links.length < BATCH) return
    after = links.at(-1)?.position ?? after
  }
}

function boundsOf(month: string): { readonly from: string; readonly to: string } {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return { from: `${month}-01T00:00:00Z`, to: new Date(Date.UTC(year, number, 1)).toISOString() }
}

/**
 * Drops the events first: seals without events still match the record, but events without seals would look inserted.
 */
async function dropMonth(session: Queryable, { month, partitions }: Month, expected: number): Promise<void> {
  for (const partition of partitions) {
    await detachPartition(session, partition)
    // A detached partition gets no more writes. Rows added since the archiving were backdated to a month that was over.
    const rows = await countRows(session, partition)
    if (rows !== expected) {
      const reason = `${partition.name} has ${rows} rows, and ${expected} of ${month} were archived: somebody wrote into it meanwhile. It is detached, and not dropped.`
      throw new Stopped('tampered', reason)
    }
    await dropDetached(session, partition)
  }
}
