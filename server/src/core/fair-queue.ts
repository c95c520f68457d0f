/**
 * Fair queue: round-robin over groups, then over the subgroups of each; for example over applications, then over client
 * networks. When full, evicts the newest waiter of the largest subgroup of the largest group; of equal ones, of the
 * subgroup that has most in all groups, so that one network cannot fill the queue as many applications.
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
  /** Waiters of each subgroup in all groups. */
  const inSubgroup = new Map<string, number>()
  let waiting = 0

  const count = (subgroup: string, change: 1 | -1) => {
    const sum = (inSubgroup.get(subgroup) ?? 0) + change
    if (sum === 0) inSubgroup.delete(subgroup)
    else inSubgroup.set(subgroup, sum)
    waiting += change
  }

  const add = (one: T) => {
    const { group, subgroup } = placeOf(one)
    const queue = queues.get(group) ?? { waiting: 0, lines: new Map<string, Line<T>>() }
    queues.set(group, queue)
    const line = queue.lines.get(subgroup)
    if (line) line.push(one)
    else queue.lines.set(subgroup, [one])
    queue.waiting += 1
    count(subgroup, 1)
  }
  const remove = (one: T): boolean => {
    const { group, subgroup } = placeOf(one)
    const queue = queues.get(group)
    const line = queue?.lines.get(subgroup)
    const at = line?.indexOf(one) ?? -1
    if (!queue || !line || at === -1) return false
    line.splice(at, 1)
    queue.waiting -= 1
    count(subgroup, -1)
    if (line.length === 0) queue.lines.delete(subgroup)
    if (queue.waiting === 0) queues.delete(group)
    return true
  }
  /** Of several equal ones, the last: often the newcomer. */
  const crowding = (): T | null => {
    let found: T | null = null
    let [inGroup, inLine, inAll] = [0, 0, 0]
    for (const queue of queues.values()) {
      if (queue.waiting < inGroup) continue
      for (const [subgroup, line] of queue.lines) {
        const sum = inSubgroup.get(subgroup) ?? 0
        if ((queue.waiting - inGroup || line.length - inLine || sum - inAll) < 0) continue
        ;[inGroup, inLine, inAll] = [queue.waiting, line.length, sum]
        found = line.at(-1) ?? null
      }
    }
    return found
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
