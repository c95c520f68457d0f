/**
 * Priority queue: lowest rank first, then first in, first out. `join` adds to the rank the number of waiters that the
 * group already has, so that one group cannot take all first places. When full, evicts the newest of the highest rank.
 */
export type RankedQueue<T> = {
  /** Returns the evicted waiter, possibly the newcomer; null if there was room. */
  join(newcomer: T, rank: number): T | null
  /** Removes and returns the waiter of the first rank that came first; null if there is none. */
  next(): T | null
}

export function createRankedQueue<T>(maxWaiting: number, groupOf: (one: T) => string): RankedQueue<T> {
  const ranks = new Map<number, T[]>()
  const waitingOf = new Map<string, number>()
  let waiting = 0

  const take = (rank: number, at: 0 | -1): T | null => {
    const waiters = ranks.get(rank)
    const [one] = waiters?.splice(at, 1) ?? []
    if (!waiters || one === undefined) return null
    if (waiters.length === 0) ranks.delete(rank)
    const left = (waitingOf.get(groupOf(one)) ?? 1) - 1
    if (left === 0) waitingOf.delete(groupOf(one))
    else waitingOf.set(groupOf(one), left)
    waiting -= 1
    return one
  }
  return {
    join: (newcomer, rank) => {
      const group = groupOf(newcomer)
      const ahead = waitingOf.get(group) ?? 0
      const waiters = ranks.get(rank + ahead)
      if (waiters) waiters.push(newcomer)
      else ranks.set(rank + ahead, [newcomer])
      waitingOf.set(group, ahead + 1)
      waiting += 1
      return waiting > maxWaiting ? take(Math.max(...ranks.keys()), -1) : null
    },
    next: () => (waiting === 0 ? null : take(Math.min(...ranks.keys()), 0)),
  }
}
