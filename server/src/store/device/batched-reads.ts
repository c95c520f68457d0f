/** Batched reads for polls: polls that arrive within a few milliseconds share one query. */

import { type Queryable, Unavailable } from '../postgres/postgres.ts'
import { type DeviceCodeKey, type DeviceCodeStatus, readDeviceCodeStatuses } from './codes.ts'

/** Long enough for a busy server to share reads, short enough not to be noticed. */
const BATCH_WINDOW_MS = 2

const MAX_PER_READ = 1_000

/**
 * Limit of polls that wait for a read. It is reached when PostgreSQL hangs, or when the gate was lost under full load;
 * further polls are rejected at once, and the device keeps waiting.
 */
const MAX_WAITING = 10_000

const MAX_READS_AT_ONCE = 2

type Waiting = {
  readonly key: DeviceCodeKey
  readonly resolve: (status: DeviceCodeStatus | null) => void
  readonly reject: (error: unknown) => void
}

export type BatchedReads = { status(key: DeviceCodeKey): Promise<DeviceCodeStatus | null> }

export function createBatchedReads(db: Queryable): BatchedReads {
  let waiting: Waiting[] = []
  let running = 0
  let scheduled = false

  const schedule = () => {
    if (scheduled || running >= MAX_READS_AT_ONCE || waiting.length === 0) return
    scheduled = true
    setTimeout(() => {
      scheduled = false
      void read().finally(schedule)
      schedule()
    }, BATCH_WINDOW_MS)
  }

  const read = async () => {
    const batch = waiting.slice(0, MAX_PER_READ)
    waiting = waiting.slice(MAX_PER_READ)
    running += 1
    try {
      const found = await readDeviceCodeStatuses(
        db,
        batch.map((each) => each.key),
      )
      for (const each of batch) each.resolve(found.get(each.key.id) ?? null)
    } catch (error) {
      for (const each of batch) each.reject(error)
    } finally {
      running -= 1
    }
  }

  return {
    status: (key) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= MAX_WAITING) return reject(new Unavailable('too many polls wait for a read'))
        waiting.push({ key, resolve, reject })
        schedule()
      }),
  }
}
