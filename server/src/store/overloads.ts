/** The table overloads: the minutes in which requests were shed, and how many. A minute without is no row. */
import { forget } from './forget.ts'
import type { Queryable } from './postgres.ts'

/** Adds to the minute that it is now. Several processes do so at once; each adds its own. */
export async function addShed(db: Queryable, shed: number): Promise<void> {
  await db.query(
    `insert into overloads (minute, shed) values (date_trunc('minute', now()), $1)
     on conflict (minute) do update set shed = overloads.shed + excluded.shed`,
    [shed],
  )
}

export type Overload = { readonly minute: number; readonly shed: number }

/** Since a moment, the minute that it is in included; oldest first. */
export async function readOverloads(db: Queryable, since: number): Promise<readonly Overload[]> {
  const { rows } = await db.query<Overload>(
    "select minute, shed from overloads where minute >= date_trunc('minute', $1::timestamptz) order by minute",
    [new Date(since)],
  )
  return rows
}

export function forgetOverloads(db: Queryable): Promise<void> {
  return forget(db, 'overloads', "minute < now() - interval '90 days'")
}
