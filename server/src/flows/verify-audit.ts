/** Is the audit log as it was sealed? Reads all of it, a batch at a time, and says where it is not, and what was done there. */
import { NO_SEAL } from '../secrets/audit-seal.ts'
import type { Keyset } from '../secrets/keyset.ts'
import { equalSecrets } from '../secrets/mac.ts'
import { readChain, readLastSeal, readUnsealed, type SealedEntry, type Unsealed } from '../store/audit-seals.ts'
import type { Queryable } from '../store/postgres.ts'
import { type Break, explainBreak, fits } from './explain-break.ts'
import type { AuditHead } from './seal-audit.ts'

/** The first thing that is wrong. */
export type AuditProblem =
  | { readonly kind: Break; readonly position: number; readonly eventId: string }
  /** The event is gone; or, without one, the seals up to `upTo` with whatever they sealed. */
  | { readonly kind: 'removed'; readonly position: number; readonly eventId: string | null; readonly upTo: number }
  /** An event that the chain went past: whoever added it made it look older than it is. */
  | { readonly kind: 'inserted'; readonly position: null; readonly eventId: string }
  /** The head that was noted elsewhere is not in the chain: its end was cut off, or all of it made anew. */
  | { readonly kind: 'chopped'; readonly position: number }
  /** Sealed under a key that was not given. Nothing is known from here on. */
  | { readonly kind: 'key_missing'; readonly position: number; readonly keyId: number }

/** Which key sealed what: a key that was retired must not turn up again at the end. */
export type KeyRange = { readonly keyId: number; readonly from: number; readonly to: number }

export type Verification = {
  readonly problem: AuditProblem | null
  /** How many fit, up to the problem. */
  readonly verified: number
  readonly head: AuditHead | null
  readonly keys: readonly KeyRange[]
  /** Recorded and not sealed yet: so young that it is no wonder, and longer than that. */
  readonly young: number
  readonly waiting: number
  /** Sealed in their turn, but dated long before their neighbours. The clock was set back, or they are not what they say. */
  readonly backdated: { readonly count: number; readonly first: number } | null
}

const BATCH = 2_000

/** How far around a break is looked for what was there: enough to tell, and no search through millions. */
const NEIGHBOURS = 500

const UNSEALED_BATCH = 20_000

/** Sealing takes a second or two, unless somebody holds a transaction open. */
const YOUNG_MS = 60_000

/** More than any transaction of the service lasts, and any two clocks of a cluster differ. */
const BACKDATED_US = 60 * 60 * 1_000_000

type Walk = {
  previous: Buffer
  position: number
  verified: number
  keys: KeyRange[]
  latestUs: number
  backdated: { count: number; first: number } | null
}

/**
 * `noted`: a head that was kept elsewhere; the chain must contain it. Where everything up to it was archived and only its seal
 * is left, the chain begins with it.
 */
export async function verifyAudit(db: Queryable, keys: Keyset, noted: AuditHead | null): Promise<Verification> {
  const head = await readLastSeal(db)
  const walk: Walk = { previous: NO_SEAL, position: 0, verified: 0, keys: [], latestUs: 0, backdated: null }
  let problem = head && (await walkTo(db, keys, walk, head.position, noted))
  if (!problem && noted && noted.position > (head?.position ?? 0)) problem = chopped(noted)
  const unsealed = await countUnsealed(db)
  return {
    problem: problem ?? unsealed.problem,
    verified: walk.verified,
    head: head && { position: head.position, hash: head.hash },
    keys: walk.keys,
    young: unsealed.young,
    waiting: unsealed.waiting,
    backdated: walk.backdated,
  }
}

async function walkTo(
  db: Queryable,
  keys: Keyset,
  walk: Walk,
  end: number,
  noted: AuditHead | null,
): Promise<AuditProblem | null> {
  while (walk.position < end) {
    const links = await readChain(db, walk.position, BATCH)
    for (const link of links) {
      const problem = step(keys, walk, link, noted)
      if (problem === 'broken') return explain(db, keys, walk, link)
      if (problem) return problem
    }
    if (links.length === 0) return { kind: 'removed', position: walk.position + 1, eventId: null, upTo: end }
  }
  return null
}

function step(keys: Keyset, walk: Walk, link: SealedEntry, noted: AuditHead | null): AuditProblem | 'broken' | null {
  const { position, eventId, keyId, entry } = link
  const archived = walk.position === 0 && position > 1 && noted?.position === position
  if (position !== walk.position + 1 && !archived) {
    return { kind: 'removed', position: walk.position + 1, eventId: null, upTo: position - 1 }
  }
  if (noted?.position === position && !equalSecrets(noted.hash, link.hash)) return chopped(noted)
  if (!archived) {
    if (!entry) return { kind: 'removed', position, eventId, upTo: position }
    if (!keys.byId.has(keyId)) return { kind: 'key_missing', position, keyId }
    if (!fits(keys, link, { previous: walk.previous, position }, entry)) return 'broken'
    noteTime(walk, position, Number(entry.at))
    noteKey(walk, position, keyId)
    walk.verified += 1
  }
  walk.previous = link.hash
  walk.position = position
  return null
}

async function explain(db: Queryable, keys: Keyset, walk: Walk, broken: SealedEntry): Promise<AuditProblem> {
  const { position, eventId, entry } = broken
  const around = await readChain(db, Math.max(0, position - NEIGHBOURS - 1), 2 * NEIGHBOURS + 1)
  const kind = entry ? explainBreak(keys, walk.previous, { ...broken, entry }, around) : 'changed'
  return { kind, position, eventId }
}

function chopped(noted: AuditHead): AuditProblem {
  return { kind: 'chopped', position: noted.position }
}

function noteKey(walk: Walk, position: number, keyId: number): void {
  const latest = walk.keys.at(-1)
  if (latest?.keyId === keyId) walk.keys[walk.keys.length - 1] = { ...latest, to: position }
  else walk.keys.push({ keyId, from: position, to: position })
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
    for (const { id, outOfTurn, ageMs } of page.entries) {
      if (outOfTurn) problem ??= { kind: 'inserted', position: null, eventId: id }
      else if (ageMs > YOUNG_MS) waiting += 1
      else young += 1
    }
    after = page.after
  } while (after !== null)
  return { young, waiting, problem }
}
