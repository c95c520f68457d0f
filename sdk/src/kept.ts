/**
 * Wrapper around the application's store: turns everything that it throws into a `store` error, and loses no
 * credentials that it failed to write.
 */
import { sanitisedCause } from './cause.ts'
import type { Credentials } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import { createQueue, readKept, type Store } from './store.ts'

export function keepIn(store: Store): Store {
  /** Credentials that the store failed to write. This is the only copy, so the next read writes them again first. */
  let unsaved: Credentials | null = null
  // One at a time: a slow write must not overwrite a newer one.
  const queue = createQueue()

  const save = async (credentials: Credentials): Promise<void> => {
    try {
      await attempt(() => store.write(credentials))
      unsaved = null
    } catch (error) {
      unsaved = credentials
      throw error
    }
  }
  return {
    read: async () => {
      if (unsaved) await queue(async () => unsaved && save(unsaved))
      return attempt(async () => readKept(await store.read()))
    },
    write: (credentials) => queue(() => save(credentials)),
    clear: () =>
      queue(async () => {
        unsaved = null
        await attempt(() => store.clear())
      }),
    withLock: (work) => attempt(() => store.withLock(work)),
  }
}

/** The message of a third-party store's error may quote credentials, so only its sanitised cause is passed on. */
async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LatchkeyError) throw error
    const cause = sanitisedCause(error)
    const reason = cause?.code ? ` (${cause.code})` : ''
    throw new LatchkeyError('store', { message: `The store could not be read or written${reason}.`, cause })
  }
}
