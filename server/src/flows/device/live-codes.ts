/**
 * How many codes are live, well enough to choose the length of the next user code. No request ever waits for it. One process counts,
 * every process knows: docs/decisions/0031-dropping-a-partition-never-waits.md.
 */
import { ALL_MISSES } from '../../core/sign-in/attempts.ts'
import { countLiveDeviceCodes } from '../../store/device/live-codes.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { countMisses } from '../../store/sign-in/attempts.ts'

/** Before anything was counted: rather three digits too many than one too few. */
const UNKNOWN = 1_000_000

/** A younger count is not repeated. Less than from one turn to the next (jobs/background.ts), so that one process alone counts at each. */
const FRESH_MS = 25_000

export type LiveCodes = {
  /** What was counted last, and all that this process added since: never less than its share of the truth. */
  count(): number
  added(): void
  /** So many people enter codes that do not exist that somebody must be guessing, with many users or many addresses. */
  readonly guessed: boolean
  /** Reads what was counted last, or counts: at a million codes that takes PostgreSQL a third of a second. */
  recount(): Promise<void>
}

/** What this process added from one recount to the next. */
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
        // A count holds what was added before it began, and perhaps not what was added later.
        addedBefore = addedBefore.filter(({ until }) => until > startedAt - count.ageMs)
      }
      guessed = (await countMisses(db)) >= ALL_MISSES.max
    },
  }
}
