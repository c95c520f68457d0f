/** The table live_device_codes: a single row with the number of live codes, counted by one process for all. */
import type { Postgres } from '../postgres/postgres.ts'

export type LiveCount = {
  readonly codes: number
  /** Time since the count began, by PostgreSQL's clock. */
  readonly ageMs: number
}

/**
 * Counts again if the last count is at least `freshMs` old and no other process is counting; otherwise returns the last
 * count. Null before the first count. Counting millions of rows takes time, hence a longer timeout than for requests.
 */
export function countLiveDeviceCodes(db: Postgres, freshMs: number): Promise<LiveCount | null> {
  return db.transaction(async (tx) => {
    const { rowCount: due } = await tx.query(
      `select from live_device_codes where counted_at is null or counted_at <= now() - $1 * interval '1 millisecond'
       for update skip locked`,
      [freshMs],
    )
    if (due === 1) {
      await tx.allowSeconds(20)
      await tx.query({
        text: `update live_device_codes set counted_at = now(),
            codes = (select count(*) from device_codes where status = 'pending' and expires_at > now())`,
        query_timeout: 21_000,
      })
    }
    const { rows } = await tx.query<LiveCount>(
      `select codes, (extract(epoch from now() - counted_at) * 1000)::float8 as "ageMs"
       from live_device_codes where codes is not null`,
    )
    return rows[0] ?? null
  })
}
