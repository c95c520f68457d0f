/** Monthly partitions of audit_events and audit_seals: created ahead of time, detached by `latchkey audit detach`. */
import type { ChainRun } from '../../secrets/audit-detachment.ts'
import type { Queryable } from '../postgres/postgres.ts'
import type { ChainTables } from './seals.ts'

/** Months created ahead of the current one: how long sweeps may fail before an event has no partition. */
const MONTHS_AHEAD = 2

/** Calls a function that runs with the rights of the tables' owner and does nothing if the partitions exist. */
export async function ensureAuditPartitions(db: Queryable): Promise<void> {
  await db.query(
    `select make_audit_partitions(date_trunc('month', now(), 'UTC') + ahead * interval '1 month')
     from generate_series(0, ${MONTHS_AHEAD}) ahead`,
  )
}

export type MissingMonths = {
  /** The current month is missing: no event can be recorded. */
  readonly now: boolean
  /**
   * Missing partitions, of the current month and the next. The last month created ahead is not counted: it is missing
   * whenever no sweep has run since the month began.
   */
  readonly count: number
}

export async function countMissingMonths(db: Queryable): Promise<MissingMonths> {
  const { rows } = await db.query<{ ahead: number }>(
    `select ahead from generate_series(0, ${MONTHS_AHEAD} - 1) ahead
     where (select count(*) from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent in ('audit_events'::regclass, 'audit_seals'::regclass)
         and right(c.relname, 7) = to_char(date_trunc('month', now(), 'UTC') + ahead * interval '1 month', '_YYYYMM')) < 2`,
  )
  return { now: rows.some(({ ahead }) => ahead === 0), count: rows.length }
}

export type AuditTable = 'audit_events' | 'audit_seals'

export type AuditPartition = {
  readonly name: string
  readonly parent: AuditTable
  /** In UTC, for example 2026-08. */
  readonly month: string
  /** `detaching`: a detach was interrupted. `detached`: a separate table that is no longer written to. */
  readonly state: 'attached' | 'detaching' | 'detached'
}

/** The partitions of a month, attached or not. `month` has the form 2026-08. */
export function tablesOf(month: string): ChainTables {
  const suffix = month.replace('-', '')
  return { events: `audit_events_${suffix}`, seals: `audit_seals_${suffix}` }
}

/** Includes detached partitions. Oldest month first; events before seals. */
export async function listAuditPartitions(db: Queryable): Promise<readonly AuditPartition[]> {
  const { rows } = await db.query<AuditPartition>(
    `select c.oid::regclass::text as name, left(c.relname, -7) as parent,
       substr(right(c.relname, 6), 1, 4) || '-' || right(c.relname, 2) as month,
       case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid
     where c.relkind = 'r' and c.relname ~ '^audit_(events|seals)_[0-9]{6}$'
       and c.relnamespace = (select relnamespace from pg_class where oid = 'audit_events'::regclass)
     order by month, name`,
  )
  return rows
}

/** Gapless stretches of the chain among the seals of a month, by their first and last position. */
export async function listRuns(db: Queryable, month: string): Promise<readonly Pick<ChainRun, 'from' | 'to'>[]> {
  const { rows } = await db.query<Pick<ChainRun, 'from' | 'to'>>(
    `select min(position) as "from", max(position) as "to"
     from (select position, position - row_number() over (order by position) as run from ${tablesOf(month).seals}) s
     group by run order by 1`,
  )
  return rows
}

/** An event of the month without a seal in one of the runs; null if there is none. */
export async function findUnsealed(db: Queryable, month: string, runs: readonly ChainRun[]): Promise<string | null> {
  const { events, seals } = tablesOf(month)
  const { rows } = await db.query<{ id: string }>(
    `select e.id::text as id from ${events} e where not exists (
       select from ${seals} s, unnest($1::bigint[], $2::bigint[]) as run("from", "to")
       where s.event_id = e.id and s.event_at = e.at and s.position between run."from" and run."to")
     order by e.id limit 1`,
    [runs.map(({ from }) => from), runs.map(({ to }) => to)],
  )
  return rows[0]?.id ?? null
}

/**
 * Must run outside a transaction. `concurrently` blocks neither readers nor writers: PostgreSQL waits until every
 * transaction that uses the table has ended, then detaches the partition.
 */
export async function detachPartition(db: Queryable, { name, parent, state }: AuditPartition): Promise<void> {
  if (state === 'detached') return
  const how = state === 'detaching' ? 'finalize' : 'concurrently'
  await db.query(`alter table ${parent} detach partition ${name} ${how}`)
}
