/**
 * Fair queue: round-robin over applications, then over client networks. When full, evicts the newest waiter of the
 * largest network of the largest application.
 */
export type QueueKey = { readonly applicationId: string; readonly network: string }

export type FairQueue<T extends QueueKey> = {
  readonly waiting: number
  waitingOf(applicationId: string): number
  /** Returns the evicted waiter, possibly the newcomer; null if there was room. */
  join(newcomer: T): T | null
  /** Removes and returns the next waiter of an application that may begin; null if there is none. */
  next(mayBegin: (applicationId: string) => boolean): T | null
  leave(one: T): void
}

/** Maps iterate in insertion order: the first entry is next. */
type ApplicationQueue<T> = { waiting: number; readonly networks: Map<string, Line<T>> }

/** Never empty: an empty line is removed from its map. */
type Line<T> = [T, ...T[]]

export function createFairQueue<T extends QueueKey>(room: number): FairQueue<T> {
  const queues = new Map<string, ApplicationQueue<T>>()
  let waiting = 0

  const add = (one: T) => {
    const queue = queues.get(one.applicationId) ?? { waiting: 0, networks: new Map<string, Line<T>>() }
    queues.set(one.applicationId, queue)
    const line = queue.networks.get(one.network)
    if (line) line.push(one)
    else queue.networks.set(one.network, [one])
    queue.waiting += 1
    waiting += 1
  }
  const remove = (one: T): boolean => {
    const queue = queues.get(one.applicationId)
    const line = queue?.networks.get(one.network)
    const at = line?.indexOf(one) ?? -1
    if (!queue || !line || at === -1) return false
    line.splice(at, 1)
    queue.waiting -= 1
    waiting -= 1
    if (line.length === 0) queue.networks.delete(one.network)
    if (queue.waiting === 0) queues.delete(one.applicationId)
    return true
  }
  const crowding = (): T | null => {
    const queue = longest(queues.values(), (each) => each.waiting)
    const line = queue && longest(queue.networks.values(), (each) => each.length)
    return line?.at(-1) ?? null
  }

  return {
    get waiting() {
      return waiting
    },
    waitingOf: (applicationId) => queues.get(applicationId)?.waiting ?? 0,
    join: (newcomer) => {
      add(newcomer)
      if (waiting <= room) return null
      const leaving = crowding()
      if (leaving) remove(leaving)
      return leaving
    },
    next: (mayBegin) => {
      for (const [applicationId, queue] of queues) {
        if (!mayBegin(applicationId)) continue
        const [network, [one]] = first(queue.networks)
        remove(one)
        sendToBack(queue.networks, network)
        sendToBack(queues, applicationId)
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
