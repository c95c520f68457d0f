/** The table overloads: the minutes in which requests were shed, and how many. A minute without is no row. */

import type { Queryable } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/** Adds to the minute that it is now. Several processes do so at once; each adds its own. */
export async function addShed(db: Queryable, shed: number): Promise<void> {
  await db.query(
    `insert into overloads (minute, shed) values (date_trunc('minute', now()), $1)
     on conflict (minute) do update set shed = overloads.shed + excluded.shed`,
    [shed],
  )
}

/** The starts of those minutes, the oldest first. */
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
