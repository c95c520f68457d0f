/** Verification of the audit log, or of a detached month, against its seals. */
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import { readDetachments } from '../../store/audit/detachments.ts'
import { findUnsealed, listAuditPartitions, tablesOf } from '../../store/audit/partitions.ts'
import { LOG, readLastSeal, readUnsealed, type Unsealed } from '../../store/audit/seals.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import type { AuditHead } from './seal.ts'
import {
  type AuditProblem,
  chopped,
  continueAfter,
  type KeyRange,
  recordProblem,
  startWalk,
  type Walk,
  walkTo,
} from './walk.ts'

export type Verification = {
  readonly problem: AuditProblem | null
  /** Number of events that match, up to the problem. */
  readonly verified: number
  readonly head: AuditHead | null
  readonly keys: readonly KeyRange[]
  /** Number of events in detached months, by their signed records. */
  readonly detached: number
  /** The detached month that contains the noted head; only its tables can confirm it. */
  readonly notedIn: string | null
  /** Unsealed events: `young` up to `YOUNG_MS` old, as expected; `waiting` older. */
  readonly young: number
  readonly waiting: number
  /** Events sealed in order, but dated long before their neighbours: the clock was set back, or their time is false. */
  readonly backdated: { readonly count: number; readonly first: number } | null
}

const UNSEALED_BATCH = 20_000

/** Sealing takes a second or two, unless a transaction stays open. */
const YOUNG_MS = 60_000

/** `noted`: a head kept elsewhere, which the chain must contain. */
export async function verifyAudit(db: Queryable, keys: Keyset, noted: AuditHead | null): Promise<Verification> {
  const head = await readLastSeal(db)
  const walk = await startWalk({ db, tables: LOG, keys, noted, readDetachments: () => readDetachments(db) })
  let problem = recordProblem(keys, walk.detachments) ?? (head && (await walkTo(walk, head.position)))
  if (!problem && noted && noted.position > (head?.position ?? 0)) problem = chopped(noted)
  const unsealed = await countUnsealed(db)
  return {
    ...found(walk),
    problem: problem ?? unsealed.problem,
    head: head && { position: head.position, hash: head.hash },
    young: unsealed.young,
    waiting: unsealed.waiting,
  }
}

/**
 * Verifies a detached month in its own tables, before they are dropped or after their dump was restored. Returns a
 * reason if this database has not all of them.
 */
export async function verifyMonth(
  db: Queryable,
  keys: Keyset,
  { month, noted }: { readonly month: string; readonly noted: AuditHead | null },
): Promise<Verification | string> {
  const record = (await readDetachments(db)).find((each) => each.month === month)
  if (!record) return `There is no record of ${month} in this database: it was not detached here.`
  const tables = tablesOf(month)
  const there = (await listAuditPartitions(db)).map(({ name }) => name)
  const missing = Object.values(tables).filter((name) => !there.includes(name))
  if (missing.length > 0) return `Not in this database: ${missing.join(', ')}. Restore the dump of ${month}.`

  const walk = await startWalk({ db, tables, keys, noted, readDetachments: async () => [] })
  let problem = recordProblem(keys, [record])
  for (const { from, to, previous, hash } of record.runs) {
    if (problem) break
    continueAfter(walk, from - 1, previous)
    problem = await walkTo(walk, to)
    if (!problem && !equalSecrets(walk.previous, hash)) problem = { kind: 'record', position: to, month }
  }
  const within = record.runs.some(({ from, to }) => noted && from <= noted.position && noted.position <= to)
  if (!problem && noted && !within) problem = chopped(noted)
  const inserted = problem ? null : await findUnsealed(db, month, record.runs)
  if (inserted !== null) problem = { kind: 'inserted', position: null, eventId: inserted }
  const last = record.runs.at(-1)
  return { ...found(walk), problem, head: last ? { position: last.to, hash: last.hash } : null, young: 0, waiting: 0 }
}

function found({ verified, detached, notedIn, ranges, backdated }: Walk) {
  return { verified, detached, notedIn, keys: ranges, backdated }
}

async function countUnsealed(
  db: Queryable,
): Promise<Pick<Verification, 'young' | 'waiting'> & { problem: AuditProblem | null }> {
  let [young, waiting] = [0, 0]
  let problem: AuditProblem | null = null
  let after: string | null = null
  do {
    const page: Unsealed = await readUnsealed(db, after, UNSEALED_BATCH)
    for (const { id, outOfOrder, ageMs } of page.entries) {
      if (outOfOrder) problem ??= { kind: 'inserted', position: null, eventId: id }
      else if (ageMs > YOUNG_MS) waiting += 1
      else young += 1
    }
    after = page.after
  } while (after !== null)
  return { young, waiting, problem }
}
