/**
 * Cache of verified texts, so that a poll need not verify its code again: a genuine text stays genuine, until its key is
 * retired. Two generations rotate by count, so memory is bounded and nothing has to be purged. Only verified texts may
 * be added.
 */
import type { Keyset } from './keyset.ts'

export type VerifiedCache<Value> = {
  get(text: string): Value | undefined
  set(text: string, value: Value): void
}

export function createVerifiedCache<Value>(
  perGeneration: number,
  { byId }: Pick<Keyset, 'byId'>,
): VerifiedCache<Value> {
  let keyCount = byId.size
  let current = new Map<string, Value>()
  let previous = new Map<string, Value>()

  const set = (text: string, value: Value) => {
    if (current.size >= perGeneration) {
      previous = current
      current = new Map()
    }
    current.set(text, value)
  }
  return {
    set,
    get: (text) => {
      // No key is ever added to a running process: fewer keys mean that one was retired.
      if (byId.size !== keyCount) {
        keyCount = byId.size
        current = new Map()
        previous = new Map()
      }
      const known = current.get(text)
      if (known !== undefined) return known
      const older = previous.get(text)
      if (older !== undefined) set(text, older)
      return older
    },
  }
}
