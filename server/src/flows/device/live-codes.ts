/**
 * Approximate number of live codes, from which the length of the next user code is chosen. No request waits for it.
 * One process counts for all: docs/history.md#0031.
 */
import { ALL_MISSES } from '../../core/sign-in/attempts.ts'
import { countLiveDeviceCodes } from '../../store/device/live-codes.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { countMisses } from '../../store/sign-in/attempts.ts'

/** Assumed before the first count: three digits too many are better than one too few. */
const UNKNOWN = 1_000_000

/**
 * A younger count is not repeated. Shorter than the interval of recounts (jobs/background.ts), so that exactly one
 * process counts in each interval.
 */
const FRESH_MS = 25_000

export type LiveCodes = {
  /** The last count plus the codes this process added since. Codes that other processes added since are missing. */
  count(): number
  added(): void
  /** So many unknown codes are being entered that an attack with many users or addresses is likely. */
  readonly guessed: boolean
  /** Reads the last count, or counts anew: with a million codes that takes PostgreSQL a third of a second. */
  recount(): Promise<void>
}

/** Codes that this process added between two recounts. */
type Added = { readonly codes: number; readonly until: number }

export function createLiveCodes(db: Postgres): LiveCodes {
  let counted = UNKNOWN
  let added = 0
  let addedBefore: readonly Added[] = []
  let guessed = false

  return {
    get guessed() {
      return guessed
    },
    count: () => addedBefore.reduce((sum, { codes }) => sum + codes, counted + added),
    added: () => {
      added += 1
    },
    recount: async () => {
      const startedAt = performance.now()
      addedBefore = [...addedBefore, { codes: added, until: startedAt }]
      added = 0
      const count = await countLiveDeviceCodes(db, FRESH_MS)
      if (count) {
        counted = count.codes
        // A count includes what was added before it began, and may miss what was added later.
        addedBefore = addedBefore.filter(({ until }) => until > startedAt - count.ageMs)
      }
      guessed = (await countMisses(db)) >= ALL_MISSES.max
    },
  }
}
