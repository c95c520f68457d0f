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
type GroupQueue<T> = { waiting: number; readonly subgroups: Map<string, Waiters<T>> }

/** Of one subgroup. Never empty: an empty list is removed from its map. */
type Waiters<T> = [T, ...T[]]

export function createFairQueue<T>(
  maxWaiting: number,
  placeOf: (one: T) => { readonly group: string; readonly subgroup: string },
): FairQueue<T> {
  const queues = new Map<string, GroupQueue<T>>()
  /** Waiters of each subgroup in all groups. */
  const waitingBySubgroup = new Map<string, number>()
  let waiting = 0

  const count = (subgroup: string, change: 1 | -1) => {
    const sum = (waitingBySubgroup.get(subgroup) ?? 0) + change
    if (sum === 0) waitingBySubgroup.delete(subgroup)
    else waitingBySubgroup.set(subgroup, sum)
    waiting += change
  }

  const add = (one: T) => {
    const { group, subgroup } = placeOf(one)
    const queue = queues.get(group) ?? { waiting: 0, subgroups: new Map<string, Waiters<T>>() }
    queues.set(group, queue)
    const waiters = queue.subgroups.get(subgroup)
    if (waiters) waiters.push(one)
    else queue.subgroups.set(subgroup, [one])
    queue.waiting += 1
    count(subgroup, 1)
  }
  const remove = (one: T): void => {
    const { group, subgroup } = placeOf(one)
    const queue = queues.get(group)
    const waiters = queue?.subgroups.get(subgroup)
    const at = waiters?.indexOf(one) ?? -1
    if (!queue || !waiters || at === -1) return
    waiters.splice(at, 1)
    queue.waiting -= 1
    count(subgroup, -1)
    if (waiters.length === 0) queue.subgroups.delete(subgroup)
    if (queue.waiting === 0) queues.delete(group)
  }
  /** The waiter to evict. Of several equal ones, the last: often the newcomer. */
  const findEvicted = (): T | null => {
    let found: T | null = null
    let [inGroup, inSubgroup, inAll] = [0, 0, 0]
    for (const queue of queues.values()) {
      if (queue.waiting < inGroup) continue
      for (const [subgroup, waiters] of queue.subgroups) {
        const sum = waitingBySubgroup.get(subgroup) ?? 0
        if ((queue.waiting - inGroup || waiters.length - inSubgroup || sum - inAll) < 0) continue
        ;[inGroup, inSubgroup, inAll] = [queue.waiting, waiters.length, sum]
        found = waiters.at(-1) ?? null
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
      if (waiting <= maxWaiting) return null
      const evicted = findEvicted()
      if (evicted) remove(evicted)
      return evicted
    },
    next: (mayBegin) => {
      for (const [group, queue] of queues) {
        if (!mayBegin(group)) continue
        const [subgroup, [one]] = first(queue.subgroups)
        remove(one)
        sendToBack(queue.subgroups, subgroup)
        sendToBack(queues, group)
        return one
      }
      return null
    },
    leave: remove,
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
