/** Virtual time: programs that wait, in the order of their wake-up. */

/** Yields milliseconds to wait. */
export type Program = Generator<number, void, void>

type Entry = { readonly at: number; readonly wake: () => void }

export class VirtualTime {
  now = 0
  private readonly heap: Entry[] = []

  after(ms: number, wake: () => void): void {
    const { heap } = this
    heap.push({ at: this.now + ms, wake })
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1
      if (!this.swapIfEarlier(child, parent)) break
      child = parent
    }
  }

  /** False when nobody waits. */
  step(): boolean {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last) return false
    if (heap.length > 0) {
      heap[0] = last
      this.sink()
    }
    this.now = first.at
    first.wake()
    return true
  }

  private sink(): void {
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1
      const child = this.isEarlier(left + 1, left) ? left + 1 : left
      if (!this.swapIfEarlier(child, parent)) return
      parent = child
    }
  }

  private isEarlier(one: number, other: number): boolean {
    return (this.heap[one]?.at ?? Number.POSITIVE_INFINITY) < (this.heap[other]?.at ?? Number.POSITIVE_INFINITY)
  }

  private swapIfEarlier(child: number, parent: number): boolean {
    const [lower, upper] = [this.heap[child], this.heap[parent]]
    if (!lower || !upper || lower.at >= upper.at) return false
    this.heap[child] = upper
    this.heap[parent] = lower
    return true
  }
}

/** mulberry32: the same run for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
