/** How many codes are live, well enough to choose the length of the next user code. No request ever waits for it. */
import { countLiveDeviceCodes } from '../store/device-codes.ts'
import type { Postgres } from '../store/postgres.ts'

/** Before anything was counted: rather three digits too many than one too few. */
const UNKNOWN = 1_000_000

export type LiveCodes = {
  /** What was counted last, and all that this process added since: never less than its share of the truth. */
  count(): number
  added(): void
  /** At a million codes this takes PostgreSQL a third of a second (jobs/background.ts says how often). */
  recount(): Promise<void>
}

export function createLiveCodes(db: Postgres): LiveCodes {
  let counted = UNKNOWN
  let addedSince = 0

  return {
    count: () => counted + addedSince,
    added: () => {
      addedSince += 1
    },
    recount: async () => {
      const addedBefore = addedSince
      counted = await countLiveDeviceCodes(db)
      addedSince -= addedBefore
    },
  }
}
