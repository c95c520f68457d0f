/** The table refusal_counts: refusals of the current hour, until they are recorded as audit events. */
import { byAnybody } from '../../core/audit/actor.ts'
import { type CountedRefusal, summedUp } from '../../core/audit/counted.ts'
import { recordAll } from '../audit/events.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type Refusals = CountedRefusal & { readonly count: number }

/** Several processes add concurrently, each in the same order. */
const ADD = `insert into refusal_counts (kind, hour, account_id, subject, network, user_id, reason, count)
  select kind, date_trunc('hour', now(), 'UTC'), account_id, subject, network, user_id, reason, count
  from unnest($1::text[], $2::text[], $3::text[], $4::cidr[], $5::text[], $6::text[], $7::integer[])
    as noted (kind, account_id, subject, network, user_id, reason, count)
  order by kind, account_id, subject, network, reason
  on conflict on constraint refusal_counts_key do update set count = refusal_counts.count + excluded.count`

export async function addRefusals(db: Queryable, noted: readonly Refusals[]): Promise<void> {
  await db.query(ADD, valuesOf(noted))
}

/** True for the first one of its hour. */
export async function addRefusal(tx: Transaction, refusal: CountedRefusal): Promise<boolean> {
  const { rows } = await tx.query<{ count: number }>(`${ADD} returning count`, valuesOf([{ ...refusal, count: 1 }]))
  return rows[0]?.count === 1
}

function valuesOf(noted: readonly Refusals[]): unknown[] {
  const column = <Name extends keyof Refusals>(name: Name) => noted.map((each) => each[name])
  return [
    column('kind'),
    column('accountId'),
    column('subject'),
    column('network'),
    column('userId'),
    column('reason'),
    column('count'),
  ]
}

/** Rows per statement. */
const MAX_RECORDED = 1_000

/** Kinds whose subject is the actor. */
const ACTORS = `(values ('page.refused', 'user'), ('management_key.refused', 'management_key')) as a (kind, actor)`

/** Turns counts of past hours into audit events. True if there may be more. */
export async function recordPastRefusals(tx: Transaction): Promise<boolean> {
  const anybody = byAnybody('web')
  const { rows } = await tx.query<{ taken: number }>(
    `with past as (
       delete from refusal_counts where id in (
         select id from refusal_counts where hour < date_trunc('hour', now(), 'UTC')
         order by id limit ${MAX_RECORDED} for update skip locked)
       returning *),
     ${recordAll(`select now(), kind, case when actor is null or subject = '' then $2 else actor end,
         case when actor is null or subject = '' then $3 else subject end,
         case kind when 'management_key.refused' then 'api' else $4 end, account_id, user_id, null, null, null::uuid,
         jsonb_strip_nulls(jsonb_build_object('reason', reason, 'network', network, 'count', count,
           'address', case kind when 'session.refused' then nullif(subject, '') end,
           'hour', to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')))
       from past left join ${ACTORS} using (kind) where kind = any($1)`)}
     select count(*) as taken from past`,
    [summedUp, anybody.kind, anybody.id, anybody.via],
  )
  return rows[0]?.taken === MAX_RECORDED
}
