/** Time series of an application for charts: the last hours in steps of five minutes, the last weeks in days. */
import type { Series } from '../../core/reviews/review.ts'
import type { Queryable } from '../postgres/postgres.ts'
import type { DayCounts } from './days.ts'

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

/** `counts` is null if the application's day has not been counted yet. */
export type DayPoint = Pick<Series['days'][number], 'day' | 'requested' | 'polls' | 'early'> & {
  readonly counts: DayCounts | null
}

type DayRow = Omit<DayPoint, 'counts'> & DayCounts & { readonly counted: boolean }

/** The last `days`, including today. */
export async function readDays(db: Queryable, applicationId: string, days: number): Promise<readonly DayPoint[]> {
  const { rows } = await db.query<DayRow>({
    name: 'read-days',
    text: `select step.day, hours.requested, hours.polls, hours.early, c.day is not null or d.day is not null as counted,
       coalesce(d.entered, 0) as entered, coalesce(d.granted, 0) as granted, coalesce(d.rejected, 0) as rejected,
       coalesce(d.new_users, 0) as "newUsers", coalesce(d.networks, 0) as networks, coalesce(d.countries, 0) as countries
     from generate_series(
       date_trunc('day', now()) - ($2 - 1) * interval '1 day', date_trunc('day', now()), interval '1 day') as step(day)
     cross join lateral (
       select coalesce(sum(requested), 0)::bigint as requested, coalesce(sum(polls), 0)::bigint as polls,
         coalesce(sum(early_polls), 0)::bigint as early
       from application_hours
       where application_id = $1 and hour >= step.day and hour < step.day + interval '1 day') hours
     left join counted_days c on c.day = step.day
     left join application_days d on d.application_id = $1 and d.day = step.day
     order by step.day`,
    values: [applicationId, days],
  })
  return rows.map(({ day, requested, polls, early, counted, ...counts }) => {
    return { day, requested, polls, early, counts: counted ? counts : null }
  })
}
