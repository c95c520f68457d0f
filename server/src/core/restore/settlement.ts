/** What to do when PostgreSQL has another history than before, or the journal has lines whose commits were lost. */

/** Without proof: a new history within this time of the last activity is a failover, not a restore. */
const FAILED_OVER_MS = 60_000

/** How long the processes of before may take to say that they miss no commit: those of other machines come back later. */
const PATIENCE_MS = 30_000

/** The same if none has said so: probably all were stopped, and a process that starts waits in vain. */
const PATIENCE_ALONE_MS = 5_000

export type Found = {
  /** The history of PostgreSQL (store/restore/restores.ts). */
  readonly current: string
  /** The newest record. Null: the service never ran on this database. */
  readonly newest: { readonly history: string; readonly finished: boolean; readonly closed: boolean } | null
  /** The journal has lines whose commits were lost. */
  readonly hasLost: boolean
  /** Something that an operator has to accept was found, and is not in the newest record. */
  readonly hasOpen: boolean
  /** A journal is configured and has lines. */
  readonly journalled: boolean
  readonly processes: Processes
  /** Null: no process ever noted that it runs. */
  readonly lastActiveAt: number | null
  readonly now: number
}

/** Those that may have seen commits confirmed before. */
export type Processes = {
  /** This one misses a commit. */
  readonly lost: boolean
  /** They found all of them. */
  readonly attested: number
  /** They have not said anything yet. */
  readonly silent: number
  /** They can still find out. */
  readonly askable: boolean
  readonly waitedMs: number
}

export type Settlement = {
  /** The restore to record. `finished`: nothing was lost, so nothing is repeated. Null: it is the newest record. */
  readonly record: { readonly lostSince: number | null; readonly finished: boolean } | null
  /** Whether codes, dialogs and sessions are closed, because any of them may have been used in the lost time. */
  readonly closes: boolean
}

const NOTHING_LOST: Settlement = { record: { lostSince: null, finished: true }, closes: false }

/** Null: nothing is new. */
export function planSettlement(found: Found): Settlement | 'wait' | null {
  const { current, newest, hasOpen, journalled, processes, lastActiveAt, now } = found
  const { lost, attested, silent, askable, waitedMs } = processes
  const hasLost = found.hasLost || (lost && !journalled)
  const isKnown = newest?.history === current
  if (!hasLost && isKnown && (newest.finished || !hasOpen)) return null
  if (!hasLost && newest === null) return NOTHING_LOST
  // Another machine settled this restore before, with its own journal or what its processes knew.
  if (isKnown && !newest.finished) {
    const closes = hasLost && !newest.closed
    return found.hasLost || hasOpen || closes ? { record: null, closes } : null
  }

  const lostSince = lastActiveAt ?? now
  if (!hasLost && !hasOpen && journalled) return { record: { lostSince, finished: true }, closes: false }
  if (!hasLost && attested > 0 && silent === 0) return NOTHING_LOST
  const patienceMs = attested > 0 ? PATIENCE_MS : PATIENCE_ALONE_MS
  if (!hasLost && askable && silent > 0 && waitedMs < patienceMs) return 'wait'
  const isFailover = !hasLost && lastActiveAt !== null && now - lastActiveAt < FAILED_OVER_MS
  return { record: { lostSince, finished: false }, closes: !isFailover }
}
