/** Deleting what nobody needs any more, a batch at a time: no statement may take longer than a request's would. */
import type { Queryable } from './postgres.ts'

const BATCH = 10_000

/** What is left after so many is for the next sweep. */
const MAX_BATCHES = 20

/** `rows` is a condition, written in the store. Others may do the same at the same moment. */
export async function forget(db: Queryable, table: string, rows: string): Promise<void> {
  for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
    const { rowCount } = await db.query(
      `delete from ${table} where ctid = any(array(select ctid from ${table} where ${rows} limit ${BATCH}))`,
    )
    if ((rowCount ?? 0) < BATCH) return
  }
}
