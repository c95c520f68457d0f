/**
 * Who is next, where more wait than can be served: applications take turns, and within each its networks do. When there is no
 * room for another one, whoever crowds the most makes room: of the application with the most waiting, the last one of its
 * network with the most.
 */
export type Place = { readonly applicationId: string; readonly network: string }

export type Turns<T extends Place> = {
  readonly waiting: number
  waitingOf(applicationId: string): number
  /** Returns who has to go for it, perhaps the newcomer; null: there was room. */
  join(newcomer: T): T | null
  /** Of the applications that may begin another one. Null: nobody of those waits. */
  next(mayBegin: (applicationId: string) => boolean): T | null
  leave(one: T): void
}

/** A map keeps the order in which keys were put in: the first lane is the one whose turn it is. */
type Lane<T> = { waiting: number; readonly networks: Map<string, Line<T>> }

/** Nobody waits in a line that is not there. */
type Line<T> = [T, ...T[]]

export function createTurns<T extends Place>(room: number): Turns<T> {
  const lanes = new Map<string, Lane<T>>()
  let waiting = 0

  const add = (one: T) => {
    const lane = lanes.get(one.applicationId) ?? { waiting: 0, networks: new Map<string, Line<T>>() }
    lanes.set(one.applicationId, lane)
    const line = lane.networks.get(one.network)
    if (line) line.push(one)
    else lane.networks.set(one.network, [one])
    lane.waiting += 1
    waiting += 1
  }
  const remove = (one: T): boolean => {
    const lane = lanes.get(one.applicationId)
    const line = lane?.networks.get(one.network)
    const at = line?.indexOf(one) ?? -1
    if (!lane || !line || at === -1) return false
    line.splice(at, 1)
    lane.waiting -= 1
    waiting -= 1
    if (line.length === 0) lane.networks.delete(one.network)
    if (lane.waiting === 0) lanes.delete(one.applicationId)
    return true
  }
  const crowding = (): T | null => {
    const lane = longest(lanes.values(), (each) => each.waiting)
    const line = lane && longest(lane.networks.values(), (each) => each.length)
    return line?.at(-1) ?? null
  }

  return {
    get waiting() {
      return waiting
    },
    waitingOf: (applicationId) => lanes.get(applicationId)?.waiting ?? 0,
    join: (newcomer) => {
      add(newcomer)
      if (waiting <= room) return null
      const leaving = crowding()
      if (leaving) remove(leaving)
      return leaving
    },
    next: (mayBegin) => {
      for (const [applicationId, lane] of lanes) {
        if (!mayBegin(applicationId)) continue
        const [network, [one]] = first(lane.networks)
        remove(one)
        sendToBack(lane.networks, network)
        sendToBack(lanes, applicationId)
        return one
      }
      return null
    },
    leave: (one) => {
      remove(one)
    },
  }
}

/** Of a map that has one. */
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

/** Of several that are equally long, the one that came last. */
function longest<T>(all: Iterable<T>, lengthOf: (each: T) => number): T | null {
  let found: T | null = null
  for (const each of all) if (found === null || lengthOf(each) >= lengthOf(found)) found = each
  return found
}
