/** The application's store, as this library uses it: whatever it throws is a `store` error, and nothing that it refused is lost. */
import type { Credentials } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import { readKept, type Store } from './store.ts'

export function keepIn(store: Store): Store {
  /** What the store would not take: this is the only copy, so it is offered again before anything is read. */
  let unsaved: Credentials | null = null

  const write = async (credentials: Credentials): Promise<void> => {
    unsaved = credentials
    await attempt(() => store.write(credentials))
    unsaved = null
  }
  return {
    read: async () => {
      if (unsaved) await write(unsaved)
      return attempt(async () => readKept(await store.read()))
    },
    write,
    clear: () => attempt(() => store.clear()),
    withLock: (work) => attempt(() => store.withLock(work)),
  }
}

/** An error of somebody else's store may quote what it was given; its short name cannot. */
async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LatchkeyError) throw error
    const { code } = error as { code?: unknown }
    const reason = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,39}$/.test(code) ? ` (${code})` : ''
    throw new LatchkeyError('store', { message: `The store could not be read or written${reason}.` })
  }
}
