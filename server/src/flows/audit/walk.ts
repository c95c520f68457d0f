/** Walks along the chain of the audit log and compares each event with its seal, up to the first mismatch. */
import { type ChainRun, type Detachment, isSigned } from '../../secrets/audit-detachment.ts'
import { NO_SEAL } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import { type ChainTables, readChain, type SealedEntry } from '../../store/audit/seals.ts'
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
  /** The record of a detached month was altered, or does not match the chain before it or the seals of the month. */
  | { readonly kind: 'record'; readonly position: number; readonly month: string }

/** Positions sealed by a key. A retired key must not reappear at the end. */
export type KeyRange = { readonly keyId: number; readonly from: number; readonly to: number }

const BATCH = 2_000

/** Seals examined on each side of a break: enough to classify it without searching millions. */
const NEIGHBOURS = 500

/** Longer than any transaction of the service, and than the clock skew within a cluster. */
const BACKDATED_US = 60 * 60 * 1_000_000

export type WalkOptions = {
  readonly db: Queryable
  readonly tables: ChainTables
  readonly keys: Keyset
  /** A head kept elsewhere, which the chain must contain. */
  readonly noted: AuditHead | null
  /** Records of the months that may be missing. */
  readDetachments(): Promise<readonly Detachment[]>
}

export type Walk = WalkOptions & {
  detachments: readonly Detachment[]
  previous: Buffer
  position: number
  /** Time of the seal at `position`, to detect a second seal with the same position. */
  eventAt: string
  verified: number
  detached: number
  notedIn: string | null
  ranges: KeyRange[]
  latestUs: number
  backdated: { count: number; first: number } | null
}

/** At the beginning of the chain. */
export async function startWalk(options: WalkOptions): Promise<Walk> {
  const detachments = await options.readDetachments()
  return {
    ...{ ...options, detachments, previous: NO_SEAL, position: 0, eventAt: '' },
    ...{ verified: 0, detached: 0, notedIn: null, ranges: [], latestUs: 0, backdated: null },
  }
}

/** Continues after a position whose seal is elsewhere. */
export function continueAfter(walk: Walk, position: number, hash: Buffer): void {
  walk.position = position
  walk.previous = hash
  walk.eventAt = ''
}

/** The first record with an invalid signature or an unknown key. */
export function recordProblem(keys: Keyset, detachments: readonly Detachment[]): AuditProblem | null {
  for (const record of detachments) {
    const signed = isSigned(keys, record)
    const position = record.runs[0]?.from ?? 0
    if (signed === null) return { kind: 'key_missing', position, keyId: record.keyId }
    if (!signed) return { kind: 'record', position, month: record.month }
  }
  return null
}

/** Verifies the events up to position `end`, which must all be there or in a detached month. */
export async function walkTo(walk: Walk, end: number): Promise<AuditProblem | null> {
  for (;;) {
    // Read the last seal again: a duplicate of its position could hide between two batches.
    const links = await readChain(walk.db, Math.max(0, walk.position - 1), BATCH, { tables: walk.tables })
    const next = links.filter(({ position, eventAt }) => position !== walk.position || eventAt !== walk.eventAt)
    for (const link of next) {
      if (link.position > end) return passDetached(walk, end)
      const problem = await step(walk, link)
      if (problem) return problem
    }
    if (next.length === 0) return passDetached(walk, end)
  }
}

async function step(walk: Walk, link: SealedEntry): Promise<AuditProblem | null> {
  const { position, eventId } = link
  if (position <= walk.position) return { kind: 'inserted', position, eventId }
  const missing = await passDetached(walk, position - 1)
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

/** The seal has no event with its id and time: just detached, its time altered, or removed. */
async function checkWithout(walk: Walk, link: SealedEntry): Promise<AuditProblem | null> {
  const { position, eventId, hash } = link
  const found = await findDetached(walk, position)
  if (found) {
    const { month, run } = found
    if (position === run.to && !equalSecrets(run.hash, hash)) return { kind: 'record', position, month }
    walk.detached += 1
    return null
  }
  const moved = await readChain(walk.db, position - 1, 1, { join: 'moved', tables: walk.tables })
  return check(walk, moved.find((each) => each.eventId === eventId) ?? link)
}

/** Skips missing positions up to `end`: each must be in a detached month that continues the chain before it. */
async function passDetached(walk: Walk, end: number): Promise<AuditProblem | null> {
  while (walk.position < end) {
    const first = walk.position + 1
    const found = await findDetached(walk, first)
    if (!found || found.run.to > end) return removed(first, Math.min(end, nextDetached(walk, first) - 1))
    const { month, run } = found
    if (run.from === first && !equalSecrets(run.previous, walk.previous)) {
      return { kind: 'record', position: first, month }
    }
    if (walk.noted && walk.noted.position >= first && walk.noted.position <= run.to) {
      if (walk.noted.position < run.to) walk.notedIn = month
      else if (!equalSecrets(walk.noted.hash, run.hash)) return chopped(walk.noted)
    }
    walk.detached += run.to - walk.position
    continueAfter(walk, run.to, run.hash)
  }
  return null
}

/** First position of the next detached run. */
function nextDetached({ detachments }: Walk, position: number): number {
  const begins = detachments.flatMap(({ runs }) => runs.map(({ from }) => from)).filter((from) => from > position)
  return begins.reduce((first, from) => Math.min(first, from), Number.POSITIVE_INFINITY)
}

type Found = { readonly month: string; readonly run: ChainRun }

/** Also finds a month that was detached during this walk. */
async function findDetached(walk: Walk, position: number): Promise<Found | null> {
  const find = () => {
    for (const { month, runs } of walk.detachments) {
      const run = runs.find(({ from, to }) => from <= position && position <= to)
      if (run) return { month, run }
    }
    return null
  }
  const found = find()
  if (found) return found
  const detachments = await walk.readDetachments()
  if (detachments.length === walk.detachments.length) return null
  walk.detachments = detachments
  return recordProblem(walk.keys, detachments) ? null : find()
}

function removed(position: number, upTo: number): AuditProblem {
  return { kind: 'removed', position, eventId: null, upTo }
}

async function explain(walk: Walk, broken: SealedEntry): Promise<AuditProblem> {
  const { position, eventId, entry } = broken
  const around = await readChain(walk.db, Math.max(0, position - NEIGHBOURS - 1), 2 * NEIGHBOURS + 1, {
    ...{ join: 'moved', tables: walk.tables },
  })
  const kind = entry ? explainBreak(walk.keys, walk.previous, { ...broken, entry }, around) : 'changed'
  return { kind, position, eventId }
}

export function chopped(noted: AuditHead): AuditProblem {
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
