/**
 * Held polls: polls that asked to wait (`Prefer: wait`) and whose code is pending. Each is woken by the decision of its
 * code, ends after its time, or is released: by a later poll of the same code, when its client disconnects, and when
 * the process stops. docs/decisions/0050-polls-are-held.md.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Limit per process: a held poll takes a descriptor and about 18 KB. Beyond it polls are answered immediately. */
const MAX_HELD = 20_000

/** Limit per application, so that one application leaves room for the others. */
const MAX_HELD_PER_APPLICATION = 10_000

/** Timer wheel: one timer for all polls. A wait ends up to two ticks late; the wheel is longer than the longest wait. */
const TICK_MS = 250
const SLOTS = 128

/**
 * Polls that ask to wait start together: those of one window share a gate call and a read, instead of making one of each
 * (docs/decisions/0050-polls-are-held.md has the figures). A decision wakes held polls without this delay.
 */
const START_WINDOW_MS = 25

export type Woken = 'decided' | 'over' | 'released'

export type HeldPoll = {
  /** Resolves together with other polls that arrived within a few milliseconds. */
  started(): Promise<void>
  /** Waits for the decision. The first call releases earlier polls of the same code in this process. */
  until(ms: number): Promise<Woken>
  release(): void
  /** Only when no `until` is under way. */
  close(): void
}

export type HeldPolls = {
  /**
   * Registers a poll before its code is read: a decision from then on wakes it, even if the row was read before. Null:
   * too many polls are held.
   */
  open(codeId: string, applicationId: string): HeldPoll | null
  /** The code was decided: its held poll reads the row. */
  decided(codeId: string): void
  /** Decisions may have been missed: every held poll reads its row. */
  readAll(): void
  /** Releases all, and holds no more. */
  stop(): void
  readonly count: number
}

type Entry = { holding: boolean; woken: Woken | null; wake: ((woken: Woken) => void) | null; slot: Set<Entry> | null }

type Limits = { readonly perProcess: number; readonly perApplication: number }

const LIMITS: Limits = { perProcess: MAX_HELD, perApplication: MAX_HELD_PER_APPLICATION }

export function createHeldPolls({ perProcess, perApplication }: Limits = LIMITS): HeldPolls {
  const byCode = new Map<string, Set<Entry>>()
  const byApplication = new Map<string, number>()
  const wheel = Array.from({ length: SLOTS }, () => new Set<Entry>())
  let at = 0
  let count = 0
  let timer: NodeJS.Timeout | undefined
  let starting: Promise<void> | null = null
  let stopped = false

  const started = () => {
    starting ??= sleep(START_WINDOW_MS).then(() => {
      starting = null
    })
    return starting
  }
  const wake = (entry: Entry, woken: Woken) => {
    entry.slot?.delete(entry)
    entry.slot = null
    // Kept if nobody waits yet: a decision is not missed between two waits. A release is final, so it replaces a decision.
    if (entry.wake === null) entry.woken = woken === 'released' ? woken : (entry.woken ?? woken)
    else entry.wake(woken)
    entry.wake = null
  }
  const wakeAll = (woken: Woken) => {
    for (const entries of byCode.values()) for (const entry of entries) wake(entry, woken)
  }
  const tick = () => {
    at = (at + 1) % SLOTS
    for (const entry of wheel[at] ?? []) wake(entry, 'over')
  }

  const until = (codeId: string, entry: Entry, ms: number): Promise<Woken> => {
    if (!entry.holding) {
      for (const other of byCode.get(codeId) ?? []) if (other.holding) wake(other, 'released')
      entry.holding = true
    }
    const { woken } = entry
    entry.woken = null
    if (woken !== null) return Promise.resolve(woken)
    // One tick more: part of the current one has passed.
    const ticks = Math.min(Math.ceil(ms / TICK_MS) + 1, SLOTS - 1)
    entry.slot = wheel[(at + ticks) % SLOTS] ?? null
    entry.slot?.add(entry)
    return new Promise((resolve) => {
      entry.wake = resolve
    })
  }

  return {
    open: (codeId, applicationId) => {
      const held = byApplication.get(applicationId) ?? 0
      if (stopped || count >= perProcess || held >= perApplication) return null
      const entry: Entry = { holding: false, woken: null, wake: null, slot: null }
      const entries = byCode.get(codeId) ?? new Set()
      byCode.set(codeId, entries.add(entry))
      byApplication.set(applicationId, held + 1)
      count += 1
      timer ??= setInterval(tick, TICK_MS).unref()
      return {
        started,
        until: (ms) => until(codeId, entry, ms),
        release: () => wake(entry, 'released'),
        close: () => {
          entries.delete(entry)
          if (entries.size === 0) byCode.delete(codeId)
          const left = (byApplication.get(applicationId) ?? 1) - 1
          if (left === 0) byApplication.delete(applicationId)
          else byApplication.set(applicationId, left)
          count -= 1
          if (count > 0) return
          clearInterval(timer)
          timer = undefined
        },
      }
    },
    decided: (codeId) => {
      for (const entry of byCode.get(codeId) ?? []) wake(entry, 'decided')
    },
    readAll: () => wakeAll('decided'),
    stop: () => {
      stopped = true
      wakeAll('released')
    },
    get count() {
      return count
    },
  }
}
