/** Time series of an application for charts: the last hours in steps of five minutes, the last weeks in days. */
import type { Series } from '../../core/reviews/review.ts'
import { LONG_QUERY, type Queryable } from '../postgres/postgres.ts'

/** `allowed` is computed by the caller. */
type MinutePoint = Omit<Series['minutes'][number], 'allowed'>

/** The last `hours` in steps of five minutes, including steps without a poll. */
export async function readMinutes(
  db: Queryable,
  applicationId: string,
  hours: number,
): Promise<readonly MinutePoint[]> {
  const { rows } = await db.query<MinutePoint>(
    `select step.at, coalesce(m.polls, 0) as polls, coalesce(m.early_polls, 0) as early
     from generate_series(
       date_bin('5 minutes', now(), 'epoch') - $2 * interval '1 hour' + interval '5 minutes',
       date_bin('5 minutes', now(), 'epoch'), interval '5 minutes') as step(at)
     left join application_minutes m on m.application_id = $1 and m.at = step.at
     order by step.at`,
    [applicationId, hours],
  )
  return rows
}

/** Countries are not stored in the database. */
type DayPoint = Omit<Series['days'][number], 'countries'>

/** Condition for a query over `generate_series(…) as step(day)`: the column is within that day. */
const within = (moment: string) => `${moment} >= step.day and ${moment} < step.day + interval '1 day'`

/** The last `days`, including today. A user is new on the day of their first grant ever. */
export async function readDays(db: Queryable, applicationId: string, days: number): Promise<readonly DayPoint[]> {
  const { rows } = await db.query<DayPoint>({
    ...LONG_QUERY,
    text: `with first_day as (select date_trunc('day', now()) - ($2 - 1) * interval '1 day' as at),
     recent as materialized (
       select user_id, date_trunc('day', created_at) as day,
         network(set_masklen(requested_from, case family(requested_from) when 4 then 24 else 48 end)) as network
       from grants where application_id = $1 and created_at >= (select at from first_day)),
     networks as (select day, count(distinct network) as networks from recent group by day),
     users as (select user_id, min(day) as day from recent group by user_id),
     new_users as (
       select day, count(*) as users from users u where not exists (
         select from grants before where before.user_id = u.user_id and before.application_id = $1
           and before.created_at < (select at from first_day)) group by day)
     select step.day, hours.requested, hours.polls, hours.early, events.entered, events.granted, events.rejected,
       coalesce(new_users.users, 0) as "newUsers", coalesce(networks.networks, 0) as networks
     from generate_series((select at from first_day), date_trunc('day', now()), interval '1 day') as step(day)
     cross join lateral (
       select coalesce(sum(requested), 0)::bigint as requested, coalesce(sum(polls), 0)::bigint as polls,
         coalesce(sum(early_polls), 0)::bigint as early
       from application_hours where application_id = $1 and ${within('hour')}) hours
     cross join lateral (
       select count(distinct device_code_id) filter (where kind = 'code.claimed') as entered,
         count(*) filter (where kind = 'grant.created') as granted,
         count(*) filter (where kind = 'code.rejected') as rejected
       from audit_events where application_id = $1 and ${within('at')}
         and kind in ('code.claimed', 'grant.created', 'code.rejected')) events
     left join networks on networks.day = step.day
     left join new_users on new_users.day = step.day
     order by step.day`,
    values: [applicationId, days],
  })
  return rows
}

export type DayAddress = { readonly day: number; readonly address: string }

/** More networks would hardly change the set of countries. */
const MAX_NETWORKS = 2_000

/** One address per network and day from which codes were requested that were granted. */
export async function readDayAddresses(
  db: Queryable,
  applicationId: string,
  days: number,
): Promise<readonly DayAddress[]> {
  const { rows } = await db.query<DayAddress>({
    ...LONG_QUERY,
    text: `select date_trunc('day', created_at) as day, host(min(requested_from)) as address
     from grants where application_id = $1 and requested_from is not null
       and created_at >= date_trunc('day', now()) - ($2 - 1) * interval '1 day'
     group by 1, network(set_masklen(requested_from, case family(requested_from) when 4 then 24 else 48 end))
     limit ${MAX_NETWORKS}`,
    values: [applicationId, days],
  })
  return rows
}
