/**
 * Cache of verified texts, so that a poll need not verify its code again: a genuine text stays genuine. Two generations
 * rotate by count, so memory is bounded and nothing has to be purged. Only verified texts may be added.
 */
export type Recent<Value> = {
  get(text: string): Value | undefined
  set(text: string, value: Value): void
}

export function createRecent<Value>(perGeneration: number): Recent<Value> {
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
      const known = current.get(text)
      if (known !== undefined) return known
      const older = previous.get(text)
      if (older !== undefined) set(text, older)
      return older
    },
  }
}
