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

/** The last `days`, including today. */
export async function readDays(db: Queryable, applicationId: string, days: number): Promise<readonly DayPoint[]> {
  const { rows } = await db.query<DayPoint>({
    ...LONG_QUERY,
    text: `select step.day, hours.requested, hours.polls, hours.early, events.entered, events.granted, events.rejected,
       grants.new_users as "newUsers", grants.networks
     from generate_series(date_trunc('day', now()) - ($2 - 1) * interval '1 day', date_trunc('day', now()),
       interval '1 day') as step(day)
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
     cross join lateral (
       select count(distinct user_id) filter (where not exists (
           select from grants before where before.user_id = g.user_id and before.application_id = $1
             and before.created_at < step.day)) as new_users,
         count(distinct network(set_masklen(requested_from, case family(requested_from) when 4 then 24 else 48 end))) as networks
       from grants g where application_id = $1 and ${within('created_at')}) grants
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
