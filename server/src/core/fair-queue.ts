/**
 * Fair queue: round-robin over groups, then over the subgroups of each; for example over applications, then over client
 * networks. When full, evicts the newest waiter of the largest subgroup of the largest group.
 */
export type FairQueue<T> = {
  readonly waiting: number
  waitingOf(group: string): number
  /** Returns the evicted waiter, possibly the newcomer; null if there was room. */
  join(newcomer: T): T | null
  /** Removes and returns the next waiter of a group that may begin; null if there is none. */
  next(mayBegin: (group: string) => boolean): T | null
  leave(one: T): void
}

/** Maps iterate in insertion order: the first entry is next. */
type GroupQueue<T> = { waiting: number; readonly lines: Map<string, Line<T>> }

/** Never empty: an empty line is removed from its map. */
type Line<T> = [T, ...T[]]

export function createFairQueue<T>(
  room: number,
  placeOf: (one: T) => { readonly group: string; readonly subgroup: string },
): FairQueue<T> {
  const queues = new Map<string, GroupQueue<T>>()
  let waiting = 0

  const add = (one: T) => {
    const { group, subgroup } = placeOf(one)
    const queue = queues.get(group) ?? { waiting: 0, lines: new Map<string, Line<T>>() }
    queues.set(group, queue)
    const line = queue.lines.get(subgroup)
    if (line) line.push(one)
    else queue.lines.set(subgroup, [one])
    queue.waiting += 1
    waiting += 1
  }
  const remove = (one: T): boolean => {
    const { group, subgroup } = placeOf(one)
    const queue = queues.get(group)
    const line = queue?.lines.get(subgroup)
    const at = line?.indexOf(one) ?? -1
    if (!queue || !line || at === -1) return false
    line.splice(at, 1)
    queue.waiting -= 1
    waiting -= 1
    if (line.length === 0) queue.lines.delete(subgroup)
    if (queue.waiting === 0) queues.delete(group)
    return true
  }
  const crowding = (): T | null => {
    const queue = longest(queues.values(), (each) => each.waiting)
    const line = queue && longest(queue.lines.values(), (each) => each.length)
    return line?.at(-1) ?? null
  }

  return {
    get waiting() {
      return waiting
    },
    waitingOf: (group) => queues.get(group)?.waiting ?? 0,
    join: (newcomer) => {
      add(newcomer)
      if (waiting <= room) return null
      const leaving = crowding()
      if (leaving) remove(leaving)
      return leaving
    },
    next: (mayBegin) => {
      for (const [group, queue] of queues) {
        if (!mayBegin(group)) continue
        const [subgroup, [one]] = first(queue.lines)
        remove(one)
        sendToBack(queue.lines, subgroup)
        sendToBack(queues, group)
        return one
      }
      return null
    },
    leave: (one) => {
      remove(one)
    },
  }
}

/** Expects a map that is not empty. */
function first<K, V>(map: ReadonlyMap<K, V>): readonly [K, V] {
  for (const entry of map) return entry
  throw new RangeError('there is nothing in it')
}

function sendToBack<K, V>(map: Map<K, V>, key: K): void {
  const value = map.get(key)
  if (value === undefined) return
  map.delete(key)
  map.set(key, value)
}

/** Of several equally long ones, the last. */
function longest<T>(all: Iterable<T>, lengthOf: (each: T) => number): T | null {
  let found: T | null = null
  for (const each of all) if (found === null || lengthOf(each) >= lengthOf(found)) found = each
  return found
}
