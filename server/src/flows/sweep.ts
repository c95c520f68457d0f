/** Housekeeping of device codes: partitions for the hours to come, and none for the days gone by. */
import type { Config } from '../config.ts'
import { KEPT_AFTER_EXPIRY_MS } from '../core/device-code.ts'
import { type Dropped, dropPartitions, ensurePartitions, readClock } from '../store/device-code-partitions.ts'
import type { Postgres } from '../store/postgres.ts'

/** Sweeps may fail for this long before a code request has to make its own partition. */
const AHEAD_MS = 2 * 60 * 60 * 1000

export async function sweep(db: Postgres, config: Pick<Config, 'deviceCodeLifetimeMs'>): Promise<Dropped> {
  await makePartitionsAhead(db, config.deviceCodeLifetimeMs)
  return dropPartitions(db, (await readClock(db)) - KEPT_AFTER_EXPIRY_MS)
}

export async function makePartitionsAhead(db: Postgres, lifetimeMs: number): Promise<void> {
  const now = await readClock(db)
  await ensurePartitions(db, now, now + lifetimeMs + AHEAD_MS)
}
