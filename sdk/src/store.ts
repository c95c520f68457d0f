/** Interface of credential stores: four methods, so that applications can write their own. */
import type { Credentials } from './credentials.ts'
import { LatchkeyError } from './errors.ts'

/** Stores one token set or access key, that of one user. Treat its content as a secret. */
export interface Store {
  /** The credentials written last, or null. */
  read(): Promise<Credentials | null>
  /** Stores the credentials. When it resolves, they must survive whatever this store is meant to survive. */
  write(credentials: Credentials): Promise<void>
  clear(): Promise<void>
  /**
   * Runs `work` exclusively among all users of this store, other processes included: two concurrent renewals would end
   * the access.
   */
  withLock<T>(work: () => Promise<T>): Promise<T>
}

/** A `withLock` for one process: runs work in the order of the calls. */
export function createQueue(): Store['withLock'] {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => {})
    return mine
  }
}

/** Validates stored credentials: the store may have been edited, or written by another program. */
export function readKept(kept: unknown): Credentials | null {
  if (kept === null || kept === undefined) return null
  const { variant, accessToken, refreshToken, issuedAt, expiresAt, accessKey, scope, state } = kept as Record<
    string,
    unknown
  >
  const common = Array.isArray(scope) && scope.every((name) => typeof name === 'string') && typeof state === 'string'
  if (common && variant === 'access_key' && typeof accessKey === 'string') return { variant, accessKey, scope, state }
  if (
    common &&
    variant === 'token_set' &&
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
