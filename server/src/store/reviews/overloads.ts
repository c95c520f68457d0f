/** The table overloads: number of shed requests per minute. Minutes without any have no row. */

import type { Queryable } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/** Adds to the current minute. Several processes add concurrently, each its own count. */
export async function addShed(db: Queryable, shed: number): Promise<void> {
  await db.query(
    `insert into overloads (minute, shed) values (date_trunc('minute', now()), $1)
     on conflict (minute) do update set shed = overloads.shed + excluded.shed`,
    [shed],
  )
}

/** The starts of overloaded minutes, oldest first. */
export async function readOverloads(db: Queryable, from: number, to: number): Promise<readonly number[]> {
  const { rows } = await db.query<{ minute: number }>(
    'select minute from overloads where minute >= $1 and minute < $2 and shed > 0 order by minute',
    [new Date(from), new Date(to)],
  )
  return rows.map(({ minute }) => minute)
}

export function forgetOverloads(db: Queryable): Promise<void> {
  return forget(db, 'overloads', "minute < now() - interval '90 days'")
}
