/** The tables application_days and counted_days: grants of applications per day, for the last weeks. */
import type { Series } from '../../core/reviews/review.ts'
import { LONG_QUERY, type Queryable, type Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type DayCounts = Pick<
  Series['days'][number],
  'entered' | 'granted' | 'rejected' | 'newUsers' | 'networks' | 'countries'
>

/** What PostgreSQL can count; it does not know the countries of addresses. */
export type DayFacts = Omit<DayCounts, 'countries'> & {
  readonly applicationId: string
  readonly day: number
  /** One per network. */
  readonly addresses: readonly string[]
}

/** More networks would hardly change the set of countries. */
const MAX_ADDRESSES = 2_000

/** Reads days from grants and audit events. Days of an application without any are left out. */
export async function readDayFacts(
  db: Queryable,
  applicationIds: readonly string[],
  { from, days }: { readonly from: number; readonly days: number },
): Promise<readonly DayFacts[]> {
  const { rows } = await db.query<DayFacts>({
    ...LONG_QUERY,
    // Grouped in two steps, which PostgreSQL does by hashing: it sorts for count(distinct …).
    text: `with networks as (
       select application_id, date_trunc('day', created_at) as day,
         network(set_masklen(requested_from, case family(requested_from) when 4 then 24 else 48 end)) as network,
         min(requested_from) as address, count(*) filter (where first_of_user) as new_users
       from grants
       where application_id = any($1) and created_at >= $2::timestamptz and created_at < $2::timestamptz + $3 * interval '1 day'
       group by 1, 2, 3),
     origins as (
       select application_id, day, sum(new_users)::int as new_users, count(network) as networks,
         (array_agg(host(address)) filter (where network is not null))[:${MAX_ADDRESSES}] as addresses
       from networks group by application_id, day),
     codes as (
       select application_id, date_trunc('day', at) as day, bool_or(kind = 'code.claimed') as entered,
         count(*) filter (where kind = 'grant.created') as granted, count(*) filter (where kind = 'code.rejected') as rejected
       from audit_events
       where application_id = any($1) and at >= $2::timestamptz and at < $2::timestamptz + $3 * interval '1 day'
         and kind in ('code.claimed', 'grant.created', 'code.rejected')
       group by application_id, 2, device_code_id),
     decided as (
       select application_id, day, count(*) filter (where entered) as entered, sum(granted)::int as granted,
         sum(rejected)::int as rejected
       from codes group by application_id, day)
     select application_id as "applicationId", day, coalesce(entered, 0) as entered, coalesce(granted, 0) as granted,
       coalesce(rejected, 0) as rejected, coalesce(new_users, 0) as "newUsers", coalesce(networks, 0) as networks,
       coalesce(addresses, '{}') as addresses
     from decided full join origins using (application_id, day)`,
    values: [applicationIds, new Date(from), days],
  })
  return rows
}

/**
 * A day is counted this long after its end: an event has the time at which its transaction began, and no transaction
 * of the service lasts as long.
 */
const SETTLED = "interval '10 minutes'"

/** The oldest day that is over and not counted, among the last `days`; null: all are counted. */
export async function findUncountedDay(db: Queryable, days: number): Promise<number | null> {
  const { rows } = await db.query<{ day: number }>(
    `select step.day from generate_series(
       date_trunc('day', now()) - $1 * interval '1 day', date_trunc('day', now() - ${SETTLED}) - interval '1 day',
       interval '1 day') as step(day)
     where not exists (select from counted_days c where c.day = step.day)
     order by step.day limit 1`,
    [days],
  )
  return rows[0]?.day ?? null
}

/**
 * Applications with more than `grants` grants on the day, in order of their ids. Reads at most so many entries of an index
 * for each.
 */
export async function listBusyIds(
  db: Queryable,
  day: number,
  { after, grants, limit }: { readonly after: string; readonly grants: number; readonly limit: number },
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>({
    ...LONG_QUERY,
    text: `select a.id from applications a
     where a.id > $2 and a.deleted_at is null and exists (
       select from grants g where g.application_id = a.id and g.created_at >= $1::timestamptz
         and g.created_at < $1::timestamptz + interval '1 day'
       offset $3)
     order by a.id limit $4`,
    values: [new Date(day), after, grants, limit],
  })
  return rows.map(({ id }) => id)
}

/** Replaces what was counted before the day was over. */
export async function saveDays(
  tx: Transaction,
  day: number,
  counted: readonly (DayCounts & Pick<DayFacts, 'applicationId'>)[],
): Promise<void> {
  const column = (name: keyof DayCounts | 'applicationId') => counted.map((each) => each[name])
  await tx.query(
    `insert into application_days (application_id, day, entered, granted, rejected, new_users, networks, countries)
     select id, $2, entered, granted, rejected, new_users, networks, countries
     from unnest($1::text[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[])
       as counted(id, entered, granted, rejected, new_users, networks, countries)
     on conflict (application_id, day) do update set
       entered = excluded.entered, granted = excluded.granted, rejected = excluded.rejected,
       new_users = excluded.new_users, networks = excluded.networks, countries = excluded.countries`,
    [
      column('applicationId'),
      new Date(day),
      column('entered'),
      column('granted'),
      column('rejected'),
      column('newUsers'),
      column('networks'),
      column('countries'),
    ],
  )
}

export async function insertCountedDay(tx: Transaction, day: number): Promise<void> {
  await tx.query('insert into counted_days (day) values ($1)', [new Date(day)])
}

export async function forgetDays(db: Queryable): Promise<void> {
  await forget(db, 'application_days', "day < now() - interval '90 days'")
  await forget(db, 'counted_days', "day < now() - interval '90 days'")
}
