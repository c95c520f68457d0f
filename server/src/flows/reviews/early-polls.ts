/**
 * Codes that were told slow_down, counted in process and written down every few seconds, in one statement. A poll in time costs
 * nothing here. Alone these counts speak against nobody: flows/reviews/judge.ts asks who granted the codes.
 */

import { type Postgres, Unavailable } from '../../store/postgres/postgres.ts'
import { addEarlyPolls } from '../../store/reviews/early-polls.ts'

export type EarlyPolls = {
  count(deviceCodeId: string, applicationId: string): void
  /** Throws when PostgreSQL is away; what was to be saved then waits for the next time. */
  save(): Promise<void>
}

/** Between two saves. What is beyond it is not counted, which can only help an application. */
const MAX_CODES = 20_000

/** So that no statement takes longer than a request's would. Usually all there is. */
const PER_STATEMENT = 5_000

type Counted = { readonly applicationId: string; polls: number }

/** `isOverloaded`: while this service has too much to do, nobody is blamed for what arrives too early. */
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
          // Where nobody knows whether it was committed it is dropped: to count twice would be held against somebody.
          const kept = error instanceof Unavailable && !error.silent ? [...saving, ...unsaved] : unsaved
          for (const { deviceCodeId, applicationId, polls } of kept) add(deviceCodeId, applicationId, polls)
          throw error
        }
      }
    },
  }
}
