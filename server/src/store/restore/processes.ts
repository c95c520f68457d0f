/**
 * The table processes: which processes of the service may have seen commits confirmed, and which of them found all of
 * these in a promoted PostgreSQL. docs/decisions/0062-lost-commits-are-proven.md
 *
 * Commands are not in it: they end before they could say anything. Their events are sealed within a second by a process
 * that is, whose commit is then later than theirs.
 */
import type { FoundCommit } from '../../core/restore/evidence.ts'
import type { ConfirmedCommit } from '../postgres/confirmed-commits.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { HISTORY } from './restores.ts'

/** The newest recorded history, if PostgreSQL still has it. */
const SETTLED = `select history from (select history from restores order by id desc limit 1) newest where history = ${HISTORY}`

/**
 * Notes that the process runs. False: PostgreSQL has a history that is not settled yet, so nothing is noted.
 *
 * Removes processes that were not noted for a minute: whatever they saw confirmed is before this commit. Not in the
 * first half minute after an outage, when those that run may not have come back yet.
 */
export async function markProcess(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'mark-process',
    text: `with settled as (${SETTLED}), ended as (
        select id from processes where seen_at < now() - interval '1 minute' and history = (select history from settled)
          and exists (select from processes where id = $1 and seen_at > now() - interval '30 seconds')
        for update skip locked), removed as (
        delete from processes where id in (select id from ended))
      insert into processes (id, history, seen_at) select $1, history, now() from settled
      on conflict (id) do update set history = excluded.history, seen_at = excluded.seen_at`,
    values: [id],
  })
  return rowCount === 1
}

/** The last commit of a process: PostgreSQL has it only with all that the process saw confirmed. */
export async function removeProcess(tx: Transaction, id: string): Promise<void> {
  await tx.query(`delete from processes where id = $1 and history = (${SETTLED})`, [id])
}

/** The process found all its commits in the PostgreSQL that has this history. */
export async function attest(tx: Transaction, id: string, history: string): Promise<void> {
  await tx.query(
    `insert into processes (id, history, seen_at) values ($1, $2, now())
     on conflict (id) do update set history = excluded.history, seen_at = excluded.seen_at`,
    [id, history],
  )
}

/** What processes saw on earlier histories does not count any more. */
export async function settleProcesses(tx: Transaction, history: string): Promise<void> {
  await tx.query('update processes set history = $1 where history <> $1', [history])
}

export type ProcessCounts = { readonly attested: number; readonly silent: number }

/** `silent`: not yet heard from, this one left out. */
export async function countProcesses(db: Queryable, id: string, history: string): Promise<ProcessCounts> {
  const { rows } = await db.query<ProcessCounts>(
    `select count(*) filter (where history = $2)::integer as attested,
       count(*) filter (where history <> $2 and id <> $1)::integer as silent from processes`,
    [id, history],
  )
  return rows[0] ?? { attested: 0, silent: 0 }
}

/**
 * Whether the last recovery of this PostgreSQL was a promotion, so that `pg_last_wal_replay_lsn` is where its timeline
 * began: null after a clean start. After a crash it is where recovery ended, which is where the checkpoint is that ended
 * it, at most the header of a page later. After a promotion a record of its own precedes the checkpoint, unless that
 * checkpoint itself began the timeline.
 */
const PROMOTED = `(select pg_last_wal_replay_lsn() is not null and (prev_timeline_id <> timeline_id
    or redo_lsn - pg_last_wal_replay_lsn() not between 0 and 40) from pg_control_checkpoint()) as promoted`

export async function readPromoted(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ promoted: boolean }>(`select ${PROMOTED}`)
  return rows[0]?.promoted ?? false
}

/** `histories`: of this PostgreSQL with the timeline of each commit. */
export async function findCommits(
  db: Queryable,
  commits: readonly ConfirmedCommit[],
  histories: readonly string[],
): Promise<readonly FoundCommit[]> {
  const { rows } = await db.query<FoundCommit>(
    `select timeline, exists (select from restores r where r.history = seen.history) as recorded,
       coalesce(position > pg_last_wal_replay_lsn(), false) as beyond,
       case when xid < pg_snapshot_xmax(pg_current_snapshot()) then pg_xact_status(xid) end as status
     from unnest($1::text[], $2::text[], $3::pg_lsn[], $4::xid8[]) as seen(timeline, history, position, xid)`,
    [
      commits.map(({ timeline }) => timeline),
      histories,
      commits.map(({ position }) => position),
      commits.map(({ xid }) => xid),
    ],
  )
  return rows
}
