/**
 * The newest commits that this process saw confirmed. After PostgreSQL was promoted they tell whether it lost any commit
 * that this process relies on (core/restore/evidence.ts).
 */
import { randomUUID } from 'node:crypto'

export type ConfirmedCommit = {
  /** Of PostgreSQL, as in the names of WAL files. */
  readonly timeline: string
  readonly xid: string
  /** A position in the WAL after a record of the transaction and before that of its commit. */
  readonly position: string
}

/**
 * Expression for the last statement before `commit`. Null: the transaction wrote nothing, so its commit cannot be lost.
 * One text, because the fewer expressions the less it takes PostgreSQL.
 */
export const WRITTEN = `case when pg_current_xact_id_if_assigned() is not null then concat_ws(' ', pg_current_xact_id_if_assigned(),
    pg_current_wal_insert_lsn(), pg_walfile_name(pg_current_wal_insert_lsn())) end`

export function readWritten(written: string): ConfirmedCommit {
  const [xid = '', position = '', file = ''] = written.split(' ')
  return { timeline: file.slice(0, 8), xid, position }
}

export type ConfirmedCommits = {
  /** Of this process, in the table processes. */
  readonly processId: string
  /** Called when a commit is sent; `confirm` takes what it returns. */
  send(): number
  confirm(sentAt: number, commit: ConfirmedCommit): void
  /** Those on other timelines than this one. */
  before(timeline: string): readonly ConfirmedCommit[]
  /** Forgets those on other timelines. */
  settle(timeline: string): void
}

export function createConfirmedCommits(): ConfirmedCommits {
  let time = 0
  let newest: readonly (ConfirmedCommit & { readonly confirmedAt: number })[] = []
  return {
    processId: randomUUID(),
    send: () => {
      time += 1
      return time
    },
    confirm: (sentAt, commit) => {
      time += 1
      // A commit that was sent after another was confirmed is later in the WAL: where it is, the other is as well.
      const besides = newest.filter(({ timeline, confirmedAt }) => timeline !== commit.timeline || confirmedAt > sentAt)
      newest = [...besides, { ...commit, confirmedAt: time }]
    },
    before: (timeline) => newest.filter((commit) => commit.timeline !== timeline),
    settle: (timeline) => {
      newest = newest.filter((commit) => commit.timeline === timeline)
    },
  }
}
