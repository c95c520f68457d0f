/** The monthly partitions of audit_events and audit_seals: made ahead of time, taken out by whoever archives. */
import type { Queryable } from '../postgres/postgres.ts'

/** Made ahead beside this month's: sweeps may fail for that long before an event finds no partition. */
const MONTHS_AHEAD = 2

/** By a function with the rights of the tables' owner, which does nothing where they are there. */
export async function ensureAuditPartitions(db: Queryable): Promise<void> {
  await db.query(
    `select make_audit_partitions(date_trunc('month', now(), 'UTC') + ahead * interval '1 month')
     from generate_series(0, ${MONTHS_AHEAD}) ahead`,
  )
}

export type MissingMonths = {
  /** Nothing can be recorded at this moment. */
  readonly now: boolean
  /** Of this month and those to come. A sweep that has not run since the month began is no wonder. */
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
  /** In UTC, as 2026-08. */
  readonly month: string
  /** `detaching`: somebody began and was cut off. `detached`: a table of its own, which nobody writes to any more. */
  readonly state: 'attached' | 'detaching' | 'detached'
}

/** Also those that are not attached any more. The oldest month first. */
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

export async function countRows(db: Queryable, { name }: AuditPartition): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`select count(*) as count from ${name}`)
  return rows[0]?.count ?? 0
}

/**
 * Not in a transaction. `concurrently` locks out neither who reads nor who writes: PostgreSQL waits until every transaction that
 * uses the table is over, and takes the partition off then.
 */
export async function detachPartition(db: Queryable, { name, parent, state }: AuditPartition): Promise<void> {
  if (state === 'detached') return
  const how = state === 'detaching' ? 'finalize' : 'concurrently'
  await db.query(`alter table ${parent} detach partition ${name} ${how}`)
}

export async function dropDetached(db: Queryable, { name }: AuditPartition): Promise<void> {
  await db.query(`drop table ${name}`)
}
