/** The table early_polls: number of slow_down answers per code, summed over all processes, kept for two days. */

import type { Queryable } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type EarlyPolls = { readonly deviceCodeId: string; readonly applicationId: string; readonly polls: number }

/** One statement for any number of codes, in the order of their ids, so that two processes do not deadlock. */
export async function addEarlyPolls(db: Queryable, counted: readonly EarlyPolls[]): Promise<void> {
  await db.query(
    `insert into early_polls (device_code_id, application_id, polls, last_at)
     select id, application_id, polls, now()
     from unnest($1::uuid[], $2::text[], $3::integer[]) as counted(id, application_id, polls)
     order by id
     on conflict (device_code_id) do update set polls = early_polls.polls + excluded.polls, last_at = excluded.last_at`,
    [
      counted.map(({ deviceCodeId }) => deviceCodeId),
      counted.map(({ applicationId }) => applicationId),
      counted.map(({ polls }) => polls),
    ],
  )
}

export function forgetEarlyPolls(db: Queryable): Promise<void> {
  return forget(db, 'early_polls', "last_at < now() - interval '2 days'")
}
