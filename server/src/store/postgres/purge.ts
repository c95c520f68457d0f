/** Purge of old rows in batches, so that no statement exceeds the timeout of a request. */
import type { Queryable } from './postgres.ts'

const BATCH = 10_000

/** The rest is left to the next sweep. */
const MAX_BATCHES = 20

/** `rows` is an SQL condition, a constant of the store. Several processes may purge at once. */
export async function forget(db: Queryable, table: string, rows: string): Promise<void> {
  const chosen = `select ctid from ${table} where ${rows} limit ${BATCH}`
  for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
    const { rowCount } = await db.query(`delete from ${table} where ctid = any(array(${chosen}))`)
    if ((rowCount ?? 0) < BATCH) return
  }
}
