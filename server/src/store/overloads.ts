/** The table overloads: minutes in which this service had too much to do and sent requests away. */
import type { Queryable } from './postgres.ts'

/** The starts of those minutes, the oldest first. */
export async function readOverloads(db: Queryable, from: number, to: number): Promise<readonly number[]> {
  const { rows } = await db.query<{ minute: number }>(
    'select minute from overloads where minute >= $1 and minute < $2 and shed > 0 order by minute',
    [new Date(from), new Date(to)],
  )
  return rows.map(({ minute }) => minute)
}
