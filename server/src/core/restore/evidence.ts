/**
 * Whether a promoted PostgreSQL has every commit that a process saw confirmed:
 * docs/decisions/0062-lost-commits-are-proven.md.
 *
 * A promoted PostgreSQL has the WAL of the old one up to a position, and all before it. So the newest confirmed commit
 * proves every earlier one, also of other processes. The status of a transaction number is that of this very transaction
 * if one of its records is before that position: then the number was not given out again.
 */

/** A commit that was seen confirmed, as the promoted PostgreSQL has it. */
export type FoundCommit = {
  readonly timeline: string
  /** The service recorded a history of this PostgreSQL with that timeline. */
  readonly recorded: boolean
  /** The position of the commit is after the end of the WAL that was promoted. */
  readonly beyond: boolean
  /** Of the transaction with its number; null: PostgreSQL does not know it any more. */
  readonly status: string | null
}

export type Evidence = 'complete' | 'lost' | 'unknown'

/** `promoted`: the promotion began the current timeline, and PostgreSQL still knows up to which position it has the old WAL. */
export function judgeCommits(timeline: string, promoted: boolean, commits: readonly FoundCommit[]): Evidence {
  const each = commits.map((commit): Evidence => {
    // With a timeline in between, it is not known up to where that one was followed.
    if (!promoted || !commit.recorded || !isNext(commit.timeline, timeline)) return 'unknown'
    if (commit.beyond || commit.status === 'aborted') return 'lost'
    return commit.status === 'committed' ? 'complete' : 'unknown'
  })
  if (each.includes('lost')) return 'lost'
  return each.includes('unknown') ? 'unknown' : 'complete'
}

/** Histories as in store/restore/restores.ts: system, timeline and database. */
export function isPromotionOf(recorded: string, current: string): boolean {
  return withTimeline(current, timelineOf(recorded)) === recorded && isNext(timelineOf(recorded), timelineOf(current))
}

export function timelineOf(history: string): string {
  return history.split('/')[1] ?? ''
}

export function withTimeline(history: string, timeline: string): string {
  const [system, , database] = history.split('/')
  return [system, timeline, database].join('/')
}

function isNext(timeline: string, following: string): boolean {
  return Number.parseInt(timeline, 16) + 1 === Number.parseInt(following, 16)
}
