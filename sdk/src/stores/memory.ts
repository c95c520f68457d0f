/** Store that keeps credentials in memory, for the lifetime of the process. */
import type { Credentials } from '../credentials.ts'
import { createQueue, type Store } from '../store.ts'

export function memoryStore(initial: Credentials | null = null): Store {
  let kept = initial
  return {
    read: async () => kept,
    write: async (credentials) => {
      kept = credentials
    },
    clear: async () => {
      kept = null
    },
    withLock: createQueue(),
  }
}
