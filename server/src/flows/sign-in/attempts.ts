/**
 * Reserved attempts to sign in. An attempt that did not fail is released; while PostgreSQL is unavailable, releases wait
 * in this process, so that an outage locks nobody out.
 */
import { type Postgres, Unavailable } from '../../store/postgres/postgres.ts'
import {
  type ReservedAttempt,
  releaseSignInAttempts,
  reserveSignInAttempt,
  type SignInAttempt,
} from '../../store/sign-in/attempts.ts'

export type Attempts = {
  reserve(attempt: SignInAttempt): Promise<ReservedAttempt>
  /** Does not fail while PostgreSQL is unavailable. */
  release(id: number): Promise<void>
  /** Releases what could not be released before; throws if PostgreSQL is unavailable. */
  releaseWaiting(): Promise<void>
}

/** Releases kept while PostgreSQL is unavailable. Further attempts stay counted until their window ends. */
const MAX_WAITING = 10_000

export function createAttempts(db: Postgres): Attempts {
  const waiting = new Set<number>()
  return {
    reserve: (attempt) => db.transaction((tx) => reserveSignInAttempt(tx, attempt)),
    release: async (id) => {
      try {
        await releaseSignInAttempts(db, [id])
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        if (waiting.size < MAX_WAITING) waiting.add(id)
      }
    },
    releaseWaiting: async () => {
      if (waiting.size === 0) return
      const ids = [...waiting]
      await releaseSignInAttempts(db, ids)
      for (const id of ids) waiting.delete(id)
    },
  }
}
