/** What to do when PostgreSQL has another history than before, or the journal has lines whose commits were lost. */

/** Without a journal: a new history within this time of the last activity is a failover, not a restore. */
const FAILED_OVER_MS = 60_000

export type Found = {
  /** The history of PostgreSQL (store/restore/restores.ts). */
  readonly current: string
  /** The newest record. Null: the service never ran on this database. */
  readonly newest: { readonly history: string; readonly finished: boolean } | null
  /** The journal has lines whose commits were lost. */
  readonly hasLost: boolean
  /** A journal is configured and has lines. */
  readonly journalled: boolean
  /** Null: no process ever noted that it runs. */
  readonly lastActiveAt: number | null
  readonly now: number
}

export type Settlement = {
  /** The restore to record. `finished`: nothing was lost, so nothing is repeated. Null: it is the newest record. */
  readonly record: { readonly lostSince: number | null; readonly finished: boolean } | null
  /** Whether codes, dialogs and sessions are closed, because any of them may have been used in the lost time. */
  readonly closes: boolean
}

/** Null: nothing is new. */
export function planSettlement(found: Found): Settlement | null {
  const { current, newest, hasLost, journalled, lastActiveAt, now } = found
  const isKnown = newest?.history === current
  if (!hasLost && isKnown) return null
  if (!hasLost && newest === null) return { record: { lostSince: null, finished: true }, closes: false }
  // Another machine settled this restore before, with its own journal.
  if (isKnown && !newest.finished) return { record: null, closes: false }

  const lostSince = lastActiveAt ?? now
  if (!hasLost && journalled) return { record: { lostSince, finished: true }, closes: false }
  const isFailover = !hasLost && lastActiveAt !== null && now - lastActiveAt < FAILED_OVER_MS
  return { record: { lostSince, finished: false }, closes: !isFailover }
}
