/** Where an application keeps what it was granted: four methods, so that anybody can write one. */
import type { Credentials } from './credentials.ts'
import { LatchkeyError } from './errors.ts'

/** Keeps one token set or access key: that of one user. Treat what is kept as a secret. */
export interface Store {
  /** What was written last, or null. */
  read(): Promise<Credentials | null>
  /** When it resolves, the credentials survive whatever this store is meant to survive. */
  write(credentials: Credentials): Promise<void>
  clear(): Promise<void>
  /** Runs `work` while nobody else who shares this store runs theirs: renewing twice at once would end the access. */
  withLock<T>(work: () => Promise<T>): Promise<T>
}

/** One after the other, within this process. */
export function createQueue(): Store['withLock'] {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => {})
    return mine
  }
}

/** What was kept, if it is what was written: a store may have been edited, or filled by another program. */
export function readKept(kept: unknown): Credentials | null {
  if (kept === null || kept === undefined) return null
  const { variant, accessToken, refreshToken, issuedAt, expiresAt, accessKey, scope, state } = kept as Record<
    string,
    unknown
  >
  const common = Array.isArray(scope) && scope.every((name) => typeof name === 'string') && typeof state === 'string'
  if (common && variant === 'key' && typeof accessKey === 'string') return { variant, accessKey, scope, state }
  if (
    common &&
    variant === 'oauth' &&
    typeof accessToken === 'string' &&
    typeof refreshToken === 'string' &&
    typeof issuedAt === 'number' &&
    typeof expiresAt === 'number'
  ) {
    return { variant, accessToken, refreshToken, issuedAt, expiresAt, scope, state }
  }
  throw new LatchkeyError('store', {
    message: 'What the store holds is not what this library wrote. Clear it, and let the user authorize again.',
  })
}
