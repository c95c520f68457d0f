import { DatabaseError, type Postgres } from '../../store/postgres/postgres.ts'
import { makePartitionsAhead } from '../sweep.ts'

/**
 * Inserts device codes, and once more after making their partition if there is none: no sweep has run for so long that
 * the hour's partition was not made ahead.
 */
export async function withPartition<T>(db: Postgres, lifetimeMs: number, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert()
  } catch (error) {
    if (!isMissingPartition(error)) throw error
    await makePartitionsAhead(db, lifetimeMs)
    return insert()
  }
}

/** A check violation without a constraint name. */
function isMissingPartition(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23514' && error.constraint === undefined
}
