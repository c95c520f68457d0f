/** Verification of the audit log against its seals: reads it in batches and reports the first mismatch and its kind. */
import { type ArchiveRecord, type ArchiveRun, isSigned } from '../../secrets/audit-archive.ts'
import { NO_SEAL } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import { readArchives } from '../../store/audit/archives.ts'
import { readChain, readLastSeal, readUnsealed, type SealedEntry, type Unsealed } from '../../store/audit/seals.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { type Break, explainBreak, fits } from './explain-break.ts'
import type { AuditHead } from './seal.ts'

/** The first problem found. */
export type AuditProblem =
  | { readonly kind: Break; readonly position: number; readonly eventId: string }
  /** The event is missing; with a null `eventId`, the seals up to `upTo` are missing as well as their events. */
  | { readonly kind: 'removed'; readonly position: number; readonly eventId: string | null; readonly upTo: number }
  /** An unsealed event that sorts before the end of the chain: it was backdated when it was inserted. */
  | { readonly kind: 'inserted'; readonly position: null; readonly eventId: string }
  /** The head noted elsewhere is not in the chain: the chain was truncated or rewritten. */
  | { readonly kind: 'chopped'; readonly position: number }
  /** Sealed with a key that was not given; nothing after this position can be verified. */
  | { readonly kind: 'key_missing'; readonly position: number; readonly keyId: number }
  /** The record of an archived month was altered, or does not match the chain around the missing month. */
  | { readonly kind: 'archive'; readonly position: number; readonly month: string }

/** Positions sealed by a key. A retired key must not reappear at the end. */
export type KeyRange = { readonly keyId: number; readonly from: number; readonly to: number }

export type Verification = {
  readonly problem: AuditProblem | null
  /** Number of events that match, up to the problem. */
  readonly verified: number
  readonly head: AuditHead | null
  readonly keys: readonly KeyRange[]
  /** Number of events that are in archives and match by the records. */
  readonly archived: number
  /** Month of the archive that contains the noted head; only that file can confirm it. */
  readonly notedIn: string | null
  /** Unsealed events: `young` up to `YOUNG_MS` old, as expected; `waiting` older. */
  readonly young: number
  readonly waiting: number
  /** Events sealed in order, but dated long before their neighbours: the clock was set back, or their time is false. */
  readonly backdated: { readonly count: number; readonly first: number } | null
}

const BATCH = 2_000

/** Seals examined on each side of a break: enough to classify it without searching millions. */
const NEIGHBOURS = 500

const UNSEALED_BATCH = 20_000

/** Sealing takes a second or two, unless a transaction stays open. */
const YOUNG_MS = 60_000

/** Longer than any transaction of the service, and than the clock skew within a cluster. */
const BACKDATED_US = 60 * 60 * 1_000_000

type Walk = {
  readonly db: Queryable
  readonly keys: Keyset
  readonly noted: AuditHead | null
  archives: readonly ArchiveRecord[]
  previous: Buffer
  position: number
  /** Time of the seal at `position`, to detect a second seal with the same position. */
  eventAt: string
  verified: number
  archived: number
  notedIn: string | null
  ranges: KeyRange[]
  latestUs: number
  backdated: { count: number; first: number } | null
}

/** `noted`: a head kept elsewhere, which the chain must contain. */
export async function verifyAudit(db: Queryable, keys: Keyset, noted: AuditHead | null): Promise<Verification> {
  const head = await readLastSeal(db)
  const walk: Walk = {
    ...{ db, keys, noted, archives: await readArchives(db), previous: NO_SEAL, position: 0, eventAt: '' },
    ...{ verified: 0, archived: 0, notedIn: null, ranges: [], latestUs: 0, backdated: null },
  }
  let problem = archiveProblem(walk) ?? (head && (await walkTo(walk, head.position)))
  if (!problem && noted && noted.position > (head?.position ?? 0)) problem = chopped(noted)
  const unsealed = await countUnsealed(db)
  return {
    problem: problem ?? unsealed.problem,
    verified: walk.verified,
    archived: walk.archived,
    notedIn: walk.notedIn,
    head: head && { position: head.position, hash: head.hash },
    keys: walk.ranges,
    young: unsealed.young,
    waiting: unsealed.waiting,
    backdated: walk.backdated,
  }
}

/** The first archive record with an invalid signature or an unknown key. */
function archiveProblem({ keys, archives }: Walk): AuditProblem | null {
  for (const record of archives) {
    const signed = isSigned(keys, record)
    const position = record.runs[0]?.from ?? 0
    if (signed === null) return { kind: 'key_missing', position, keyId: record.keyId }
    if (!signed) return { kind: 'archive', position, month: record.month }
  }
  return null
}

async function walkTo(walk: Walk, end: number): Promise<AuditProblem | null> {
  for (;;) {
    // Read the last seal again: a duplicate of its position could hide between two batches.
    const links = await readChain(walk.db, Math.max(0, walk.position - 1), BATCH)
    const next = links.filter(({ position, eventAt }) => position !== walk.position || eventAt !== walk.eventAt)
    for (const link of next) {
      if (link.position > end) return null
      const problem = await step(walk, link)
      if (problem) return problem
    }
    if (next.length === 0) return walk.position < end ? removed(walk.position + 1, end) : null
  }
}

async function step(walk: Walk, link: SealedEntry): Promise<AuditProblem | null> {
  const { position, eventId } = link
  if (position <= walk.position) return { kind: 'inserted', position, eventId }
  const missing = await passArchived(walk, position - 1)
  if (missing) return missing
  if (walk.noted?.position === position && !equalSecrets(walk.noted.hash, link.hash)) return chopped(walk.noted)
  const problem = link.entry ? await check(walk, link) : await checkWithout(walk, link)
  if (problem) return problem
  walk.previous = link.hash
  walk.position = position
  walk.eventAt = link.eventAt
  return null
}

async function check(walk: Walk, link: SealedEntry): Promise<AuditProblem | null> {
  const { position, eventId, keyId, entry } = link
  if (!entry) return { kind: 'removed', position, eventId, upTo: position }
  if (!walk.keys.byId.has(keyId)) return { kind: 'key_missing', position, keyId }
  if (!fits(walk.keys, link, { previous: walk.previous, position }, entry)) return explain(walk, link)
  noteTime(walk, position, Number(entry.at))
  noteKey(walk, position, keyId)
  walk.verified += 1
  return null
}

/** The seal has no event with its id and time: just archived, its time altered, or removed. */
async function checkWithout(walk: Walk, link: SealedEntry): Promise<AuditProblem | null> {
  const { position, eventId, hash } = link
  const found = await findArchived(walk, position)
  if (found) {
    const { month, run } = found
    if (position === run.to && !equalSecrets(run.hash, hash)) return { kind: 'archive', position, month }
    walk.archived += 1
    return null
  }
  const moved = await readChain(walk.db, position - 1, 1, 'moved')
  return check(walk, moved.find((each) => each.eventId === eventId) ?? link)
}

/** Skips missing positions up to `end`: each must be in an archive that continues the chain before it. */
async function passArchived(walk: Walk, end: number): Promise<AuditProblem | null> {
  while (walk.position < end) {
    const first = walk.position + 1
    const found = await findArchived(walk, first)
    if (!found || found.run.to > end) return removed(first, Math.min(end, nextArchived(walk, first) - 1))
    const { month, run } = found
    if (run.from === first && !equalSecrets(run.previous, walk.previous)) {
      return { kind: 'archive', position: first, month }
    }
    if (walk.noted && walk.noted.position >= first && walk.noted.position <= run.to) {
      if (walk.noted.position < run.to) walk.notedIn = month
      else if (!equalSecrets(walk.noted.hash, run.hash)) return chopped(walk.noted)
    }
    walk.archived += run.to - walk.position
    walk.position = run.to
    walk.previous = run.hash
    walk.eventAt = ''
  }
  return null
}

/** First position of the next archived run. */
function nextArchived({ archives }: Walk, position: number): number {
  const begins = archives.flatMap(({ runs }) => runs.map(({ from }) => from)).filter((from) => from > position)
  return begins.reduce((first, from) => Math.min(first, from), Number.POSITIVE_INFINITY)
}

type Found = { readonly month: string; readonly run: ArchiveRun }

/** Also finds archives made during this walk. */
async function findArchived(walk: Walk, position: number): Promise<Found | null> {
  const find = () => {
    for (const { month, runs } of walk.archives) {
      const run = runs.find(({ from, to }) => from <= position && position <= to)
      if (run) return { month, run }
    }
    return null
  }
  const found = find()
  if (found) return found
  const archives = await readArchives(walk.db)
  if (archives.length === walk.archives.length) return null
  walk.archives = archives
  return archiveProblem(walk) ? null : find()
}

function removed(position: number, upTo: number): AuditProblem {
  return { kind: 'removed', position, eventId: null, upTo }
}

async function explain(walk: Walk, broken: SealedEntry): Promise<AuditProblem> {
  const { position, eventId, entry } = broken
  const around = await readChain(walk.db, Math.max(0, position - NEIGHBOURS - 1), 2 * NEIGHBOURS + 1, 'moved')
  const kind = entry ? explainBreak(walk.keys, walk.previous, { ...broken, entry }, around) : 'changed'
  return { kind, position, eventId }
}

function chopped(noted: AuditHead): AuditProblem {
  return { kind: 'chopped', position: noted.position }
}

function noteKey(walk: Walk, position: number, keyId: number): void {
  const latest = walk.ranges.at(-1)
  if (latest?.keyId === keyId) walk.ranges[walk.ranges.length - 1] = { ...latest, to: position }
  else walk.ranges.push({ keyId, from: position, to: position })
}

function noteTime(walk: Walk, position: number, us: number): void {
  if (us < walk.latestUs - BACKDATED_US) {
    walk.backdated = { count: (walk.backdated?.count ?? 0) + 1, first: walk.backdated?.first ?? position }
  }
  if (Number.isFinite(us)) walk.latestUs = Math.max(walk.latestUs, us)
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
