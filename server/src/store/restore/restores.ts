/** The table restores: on which history of PostgreSQL the service ran, and what was done when it changed. */
import type { Ranges } from '../../core/restore/chain.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/**
 * Changes with a restore to a point in time and a promoted standby (timeline), a restored dump (database) and another
 * server (system identifier); not with a restart. The name of the current WAL file has the timeline at once, other than
 * pg_control_checkpoint. Null on a standby.
 */
export const HISTORY = `case when pg_is_in_recovery() then null else concat_ws('/',
  (select system_identifier from pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
  (select oid from pg_database where datname = current_database())) end`

export type Restore = {
  readonly id: number
  readonly history: string
  readonly noticedAt: number
  /** Null: the first history. */
  readonly lostSince: number | null
  readonly journalled: boolean
  readonly repeated: Readonly<Record<string, number>>
  /** Names of what an operator has to accept before it is finished (core/restore/to-accept.ts). */
  readonly toAccept: readonly string[]
  readonly finished: boolean
  /** Codes, dialogs and sessions of before were closed. */
  readonly closed: boolean
}

const RESTORE = `id, history, noticed_at as "noticedAt", lost_since as "lostSince", journalled, repeated,
  to_accept as "toAccept", finished_at is not null as finished, closed`

export async function readRestores(db: Queryable, atMost: number): Promise<readonly Restore[]> {
  const { rows } = await db.query<Restore>(`select ${RESTORE} from restores order by id desc limit $1`, [atMost])
  return rows
}

/** `known`: null if the service never ran on this database. */
export type HistoryState = { readonly current: string | null; readonly known: string | null }

export async function readHistoryState(db: Queryable): Promise<HistoryState> {
  const { rows } = await db.query<HistoryState>({
    name: 'read-history-state',
    text: `select ${HISTORY} as current, (select history from restores order by id desc limit 1) as known`,
  })
  return rows[0] ?? { current: null, known: null }
}

export type LastActivity = { readonly at: number | null; readonly now: number }

/** The last time that a process noted its signing key, which each does every ten seconds. */
export async function readLastActivity(db: Queryable): Promise<LastActivity> {
  const { rows } = await db.query<LastActivity>('select max(last_signed_at) as at, now() as now from signing_keys')
  return rows[0] ?? { at: null, now: 0 }
}

export type NewRestore = Pick<Restore, 'history' | 'lostSince' | 'journalled' | 'finished'>

export async function insertRestore(tx: Transaction, restore: NewRestore): Promise<Restore> {
  const { history, lostSince, journalled, finished } = restore
  const { rows } = await tx.query<Restore>(
    `insert into restores (history, noticed_at, lost_since, journalled, finished_at, closed)
     values ($1, now(), $2, $3, case when $4 then now() end, false) returning ${RESTORE}`,
    [history, lostSince === null ? null : new Date(lostSince), journalled, finished],
  )
  const [inserted] = rows
  if (!inserted) throw new Error('a row that was inserted is missing')
  return inserted
}

/** Lines of journals that a restore has dealt with. */
export async function readSettled(db: Queryable): Promise<Ranges> {
  const { rows } = await db.query<{ settled: Ranges }>(
    `select coalesce(jsonb_object_agg(writer, ranges), '{}') as settled from (
       select writer, jsonb_agg(range) as ranges
       from restores, jsonb_each(settled) as of_one(writer, all_ranges), jsonb_array_elements(all_ranges) as range
       group by writer) each`,
  )
  return rows[0]?.settled ?? {}
}

/** `journalled`: a journal had lines whose commits were lost. `toAccept` is added to what is there. */
export async function saveRepeated(
  tx: Transaction,
  id: number,
  saved: Pick<Restore, 'repeated' | 'journalled' | 'closed' | 'toAccept'> & { readonly settled: Ranges },
): Promise<void> {
  const { repeated, journalled, closed, toAccept, settled } = saved
  await tx.query(
    `update restores set repeated = $2, journalled = journalled or $3, closed = closed or $4,
       settled = settled || (select coalesce(jsonb_object_agg(writer, coalesce(settled -> writer, '[]') || ranges), '{}')
         from jsonb_each($6::jsonb) as more(writer, ranges)),
       to_accept = array(select distinct unnest(to_accept || $5) order by 1) where id = $1`,
    [id, JSON.stringify(repeated), journalled, closed, toAccept, JSON.stringify(settled)],
  )
}

/** Of all restores that are not finished. */
export async function readToAccept(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>(
    'select distinct unnest(to_accept) as name from restores where finished_at is null order by 1',
  )
  return rows.map(({ name }) => name)
}

/** Returns how many there were. */
export async function finishRestores(tx: Transaction): Promise<number> {
  const { rowCount } = await tx.query('update restores set finished_at = now() where finished_at is null')
  return rowCount ?? 0
}

export async function hasUnfinishedRestore(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ unfinished: boolean }>({
    name: 'has-unfinished-restore',
    text: 'select exists (select from restores where finished_at is null) as unfinished',
  })
  return rows[0]?.unfinished ?? false
}
