/**
 * Detaches a past month from the audit log: verifies the log, stores a signed record of the month's part of the chain,
 * and only then detaches its partitions. Recording of events never waits for it. An interrupted run is resumed by
 * running it again.
 * docs/history.md#0029
 */
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { type ChainRun, type Detachment, signDetachment } from '../../secrets/audit-detachment.ts'
import { NO_SEAL } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { insertDetachment, lockDetaching, readDetachingFacts, readDetachments } from '../../store/audit/detachments.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { detachPartition, findUnsealed, listAuditPartitions, listRuns } from '../../store/audit/partitions.ts'
import { readLastSeal, readSeal } from '../../store/audit/seals.ts'
import type { Postgres, Queryable } from '../../store/postgres/postgres.ts'
import { verifyAudit } from './verify.ts'
import type { AuditProblem } from './walk.ts'

export type DetachOutcome =
  /** `tables`: what is left to dump and to drop. */
  | { readonly outcome: 'detached'; readonly record: Detachment; readonly tables: readonly string[] }
  | { readonly outcome: 'refused'; readonly reason: string }
  /** The log does not match its seals: nothing is signed or detached. */
  | { readonly outcome: 'tampered'; readonly problem: AuditProblem }

type Detaching = {
  /**
   * A single connection of the database owner: it holds the session lock, and detaching a partition cannot run in a
   * transaction.
   */
  readonly session: Queryable
  readonly db: Postgres
  readonly keys: Keyset
}

/** `month` has the form 2026-08. */
export async function detachMonth(detaching: Detaching, month: string): Promise<DetachOutcome> {
  const { session, keys } = detaching
  const { role, owner, month: current } = await readDetachingFacts(session)
  if (!owner) {
    return refused(
      `The role ${role} does not own the audit log. Give the owner’s DATABASE_URL for this command, as for "latchkey migrate".`,
    )
  }
  if (month >= current) return refused(`${month} is not over, or not for an hour yet.`)
  if (!(await lockDetaching(session))) return refused('Another "latchkey audit detach" is running.')
  const partitions = (await listAuditPartitions(session)).filter((each) => each.month === month)
  if (partitions.length === 0) return refused(`There are no tables of ${month} in this database.`)
  const { problem } = await verifyAudit(session, keys, null)
  if (problem) return { outcome: 'tampered', problem }

  const signed = (await readDetachments(session)).find((each) => each.month === month)
  const record = signed ?? (await sign(detaching, month))
  if (typeof record === 'string') return refused(record)
  // Events first: seals without events still match the record, but events without seals would look inserted.
  for (const partition of partitions) await detachPartition(session, partition)
  return { outcome: 'detached', record, tables: partitions.map(({ name }) => name) }
}

function refused(reason: string): DetachOutcome {
  return { outcome: 'refused', reason }
}

/** Signs and stores the record of a month, or returns why it cannot be detached. */
async function sign({ session, db, keys }: Detaching, month: string): Promise<Detachment | string> {
  const last = await readLastSeal(session)
  if (last && monthOf(last.eventAt) === month) {
    return `The chain ends in ${month}: it continues from the newest seal, which stays until there is a newer one.`
  }
  const runs = await readRuns(session, month)
  const unsealed = await findUnsealed(session, month, runs)
  if (unsealed !== null) return `Entry ${unsealed} of ${month} is not sealed yet. Is the service running?`
  if (runs.length === 0) return `${month} has no entries.`
  const record = signDetachment(keys.signing, { month, runs })
  await db.transaction(async (tx) => {
    await insertDetachment(tx, record)
    await recordEvent(tx, { kind: 'audit.detached', actor: BY_COMMAND_LINE, detail: { month } })
  })
  return record
}

function monthOf(us: string): string {
  return new Date(Number(us) / 1000).toISOString().slice(0, 7)
}

/** With the hashes at both ends; the one before a run may have been detached with another month. */
async function readRuns(session: Queryable, month: string): Promise<readonly ChainRun[]> {
  const detached = (await readDetachments(session)).flatMap(({ runs }) => runs)
  const hashAt = async (position: number): Promise<Buffer> => {
    if (position === 0) return NO_SEAL
    const hash = (await readSeal(session, position))?.hash ?? detached.find(({ to }) => to === position)?.hash
    if (!hash) throw new Error(`position ${position} of the chain was removed after it was verified`)
    return hash
  }
  const runs: ChainRun[] = []
  for (const { from, to } of await listRuns(session, month)) {
    runs.push({ from, to, previous: await hashAt(from - 1), hash: await hashAt(to) })
  }
  return runs
}
