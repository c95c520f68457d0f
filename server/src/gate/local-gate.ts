/**
 * In-process gate: the only gate of a single server, and the fallback while Redis is unreachable. Two generations of
 * entries rotate, so memory is bounded by the codes touched in the last two minutes, plus those whose pace is longer
 * than that.
 */
import { type Gate, MAX_HINT_MS } from './gate.ts'

/** Longer than any hint and any configurable interval. Only a review sets longer intervals. */
const GENERATION_MS = 61_000

type Entry = { paceUntil: number; hintUntil: number; decidedUntil: number }

type Generation = Map<string, Entry>

export type LocalGate = Gate & {
  /** Whether `drop` was called within the last MAX_HINT_MS: a hint about the code is then outdated. */
  isDecided(id: string): boolean
}

export function createLocalGate(monotonicMs: () => number = () => performance.now()): LocalGate {
  let current: Generation = new Map()
  let previous: Generation = new Map()
  let rotatesAt = monotonicMs() + GENERATION_MS
  /** When the last pace that is longer than a generation ends. */
  let longPacesEndAt = 0

  /** Iterates over the entries only while a long pace runs: 100,000 of them take up to 60 ms, once a minute. */
  const rotate = (now: number) => {
    const idle = now >= rotatesAt + GENERATION_MS
    const kept: Generation = new Map()
    for (const old of now < longPacesEndAt ? [previous, ...(idle ? [current] : [])] : []) {
      for (const [id, entry] of old) if (now < entry.paceUntil) kept.set(id, entry)
    }
    previous = idle ? new Map() : current
    current = kept
    rotatesAt = now + GENERATION_MS
  }

  const entryFor = (id: string, now: number): Entry => {
    if (now >= rotatesAt) rotate(now)
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
      if (paceMs > GENERATION_MS) longPacesEndAt = Math.max(longPacesEndAt, entry.paceUntil)
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
      entry.decidedUntil = now + MAX_HINT_MS
    },
    isDecided: (id) => monotonicMs() < ((current.get(id) ?? previous.get(id))?.decidedUntil ?? 0),
    forgetHints: () => {
      for (const entries of [current, previous]) for (const entry of entries.values()) entry.hintUntil = 0
    },
    close: async () => {},
  }
}
