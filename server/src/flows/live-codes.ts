/** How many codes are live, well enough to choose the length of the next user code. No request ever waits for it. */
import { ALL_MISSES } from '../core/attempts.ts'
import { countMisses } from '../store/attempts.ts'
import { countLiveDeviceCodes } from '../store/device-codes.ts'
import type { Postgres } from '../store/postgres.ts'

/** Before anything was counted: rather three digits too many than one too few. */
const UNKNOWN = 1_000_000

export type LiveCodes = {
  /** What was counted last, and all that this process added since: never less than its share of the truth. */
  count(): number
  added(): void
  /** So many people enter codes that do not exist that somebody must be guessing, with many users or many addresses. */
  readonly guessed: boolean
  /** At a million codes this takes PostgreSQL a third of a second (jobs/background.ts says how often). */
  recount(): Promise<void>
}

export function createLiveCodes(db: Postgres): LiveCodes {
  let counted = UNKNOWN
  let addedSince = 0
  let guessed = false

  return {
    get guessed() {
      return guessed
    },
    count: () => counted + addedSince,
    added: () => {
      addedSince += 1
    },
    recount: async () => {
      const addedBefore = addedSince
      counted = await countLiveDeviceCodes(db)
      addedSince -= addedBefore
      guessed = (await countMisses(db)) >= ALL_MISSES.most
    },
  }
}
