/**
 * Early-poll counter: codes that got slow_down, counted in process and flushed every few seconds in one statement. A
 * poll in time costs nothing here. These counts alone do not suspend an application: flows/reviews/judge.ts also
 * considers which accounts granted the codes.
 */

import { type Postgres, Unavailable } from '../../store/postgres/postgres.ts'
import { addEarlyPolls } from '../../store/reviews/early-polls.ts'

export type EarlyPolls = {
  count(deviceCodeId: string, applicationId: string): void
  /**
   * Throws if PostgreSQL is unavailable; unsaved counts are kept for the next call unless they may have been committed.
   */
  save(): Promise<void>
}

/** Codes kept between two saves. Further codes are not counted, which only favours the application. */
const MAX_CODES = 20_000

/** Rows per statement, so that none takes longer than one of a request. Usually one is enough. */
const PER_STATEMENT = 5_000

type Counted = { readonly applicationId: string; polls: number }

/** `isOverloaded`: while this service is overloaded, early polls are not held against applications. */
export function createEarlyPolls(db: Postgres, isOverloaded: () => boolean): EarlyPolls {
  let codes = new Map<string, Counted>()

  const add = (deviceCodeId: string, applicationId: string, polls: number) => {
    const known = codes.get(deviceCodeId)
    if (known) known.polls += polls
    else if (codes.size < MAX_CODES) codes.set(deviceCodeId, { applicationId, polls })
  }

  return {
    count: (deviceCodeId, applicationId) => {
      if (!isOverloaded()) add(deviceCodeId, applicationId, 1)
    },
    save: async () => {
      const unsaved = Array.from(codes, ([deviceCodeId, counted]) => ({ deviceCodeId, ...counted }))
      codes = new Map()
      while (unsaved.length > 0) {
        const saving = unsaved.splice(0, PER_STATEMENT)
        try {
          await addEarlyPolls(db, saving)
        } catch (error) {
          // Commit outcome unknown: drop the batch. Double counting could suspend an application wrongly.
          const kept = error instanceof Unavailable && !error.silent ? [...saving, ...unsaved] : unsaved
          for (const { deviceCodeId, applicationId, polls } of kept) add(deviceCodeId, applicationId, polls)
          throw error
        }
      }
    },
  }
}
