/**
 * The gate in process: the whole gate of a single server, and the stand-in while Redis is away. Two generations of entries
 * turn over, so memory is bounded by what was touched in the last two minutes and nothing has to be swept.
 */
import { type Gate, LONGEST_HINT_MS } from './gate.ts'

/**
 * Longer than any hint, and than any pace that the configuration allows, so an entry that still matters is in one of the two
 * generations. A review may ask for a longer pace: who polls again within a minute keeps it alive, and who does not harms nobody.
 */
const GENERATION_MS = 61_000

type Entry = { paceUntil: number; hintUntil: number; decidedUntil: number }

export function createLocalGate(monotonicMs: () => number = () => performance.now()): Gate {
  let current = new Map<string, Entry>()
  let previous = new Map<string, Entry>()
  let turnAt = monotonicMs() + GENERATION_MS

  const entryFor = (id: string, now: number): Entry => {
    if (now >= turnAt) {
      previous = now >= turnAt + GENERATION_MS ? new Map() : current
      current = new Map()
      turnAt = now + GENERATION_MS
    }
    const known = current.get(id)
    if (known) return known
    const entry = previous.get(id) ?? { paceUntil: 0, hintUntil: 0, decidedUntil: 0 }
    current.set(id, entry)
    return entry
  }

  return {
    answers: true,
    failures: 0,
    poll: async (id, paceMs) => {
      const now = monotonicMs()
      const entry = entryFor(id, now)
      const early = now < entry.paceUntil
      if (!early) entry.paceUntil = now + paceMs
      return { early, pending: now < entry.hintUntil }
    },
    hint: (id, forMs) => {
      const now = monotonicMs()
      const entry = entryFor(id, now)
      if (now >= entry.decidedUntil) entry.hintUntil = now + forMs
    },
    drop: async (id) => {
      const now = monotonicMs()
      const entry = entryFor(id, now)
      entry.hintUntil = 0
      entry.decidedUntil = now + LONGEST_HINT_MS
    },
    close: async () => {},
  }
}
