/**
 * Load shedding: measures how busy this process is and rejects new work under overload.
 * docs/interface/limits.md, "Overload".
 *
 * New work is shed first: code requests, then dialogs, then the developer console. Polls, exchanges, refreshes,
 * revocations, checks and decisions of users are never shed. New codes and dialogs share half of the connections to
 * PostgreSQL, queued fairly by application and network, so that the other half stays free for work begun before.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Config } from '../../config.ts'
import { createFairQueue } from '../../core/fair-queue.ts'
import type { Events } from '../../events.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { addShed } from '../../store/reviews/overloads.ts'

export type QueueKey = { readonly applicationId: string; readonly network: string }

export type Load = {
  /** Requests wait too long for the event loop, or a request was shed a moment ago. */
  overloaded(): boolean
  /** Whether to shed such a request now; if so, counts it. */
  sheds(what: Sheddable): boolean
  /** Runs the work when a slot is free. `shed`: the queue was too long. */
  enqueue<T>(key: QueueKey, work: () => Promise<T>): Promise<T | 'shed'>
  /** Requests shed since the process started, and the current delay. */
  figures(): LoadFigures
  /** Stores the number of requests shed since the last save; throws if PostgreSQL is unavailable. */
  save(): Promise<void>
  close(): void
}

export type LoadFigures = {
  /** `line`: dropped from the queue for a connection. The keys are label values of the metric latchkey_shed_total. */
  readonly shed: Readonly<Record<Sheddable | 'line', number>>
  /** Wait for the event loop, compared with OVERLOAD_DELAY. */
  readonly delayMs: number
}

/** How long requests wait for the event loop. */
export type Delay = { ms(): number; close(): void }

export type Sheddable = 'code' | 'dialog' | 'page'

/**
 * Multiples of OVERLOAD_DELAY. Above SHORT_QUEUE_LEVEL, only one request of each application may wait in the queue;
 * others are shed. Above its level in LEVELS, every request of a kind is shed, even if a connection is free.
 */
const SHORT_QUEUE_LEVEL = 1
const LEVELS: Readonly<Record<Sheddable, number>> = { code: 4, dialog: 8, page: 16 }

/** How long after its last request an application counts as active, so that the others leave slots for it. */
const ACTIVE_MS = 10_000

/** Queue capacity for all applications together: as many as PostgreSQL completes while the first of them waits. */
const MAX_QUEUED = 1_000

/** A client that waits longer has given up, or will retry. */
const MAX_WAIT_MS = 2_000

/** How long after shedding a request the process reports itself as overloaded. */
const OVERLOADED_AFTER_SHED_MS = 2_000

type Waiting = QueueKey & { readonly settle: (how: 'begin' | 'shed') => void }

export type Given = {
  readonly config: Pick<Config, 'databaseConnections' | 'overloadDelayMs'>
  readonly db: Queryable
  readonly events: Pick<Events, 'shedding'>
}

export function createLoad({ config, db, events }: Given, delay: Delay = measureDelay()): Load {
  const maxConcurrent = Math.max(1, Math.floor(config.databaseConnections / 2))
  const queue = createFairQueue<Waiting>(MAX_QUEUED, ({ applicationId, network }) => ({
    group: applicationId,
    subgroup: network,
  }))
  const runningByApplication = new Map<string, number>()
  /** Time of the last request of each application, oldest first. */
  const lastRequestAt = new Map<string, number>()
  let running = 0
  const shedSinceStart = { code: 0, dialog: 0, page: 0, line: 0 }
  let shed = 0
  let shedding = false
  let lastShedAt = Number.NEGATIVE_INFINITY

  const count = (what: keyof LoadFigures['shed']): 'shed' => {
    shed += 1
    shedSinceStart[what] += 1
    lastShedAt = performance.now()
    return 'shed'
  }
  const isSlow = (level: number) => config.overloadDelayMs > 0 && delay.ms() > config.overloadDelayMs * level

  const markActive = (applicationId: string) => {
    const now = performance.now()
    lastRequestAt.delete(applicationId)
    lastRequestAt.set(applicationId, now)
    for (const [other, at] of lastRequestAt) {
      if (now - at < ACTIVE_MS) break
      lastRequestAt.delete(other)
    }
  }
  /** While several applications are active, none gets more than half of the slots: a busy one cannot starve another. */
  const mayBegin = (applicationId: string): boolean => {
    const max = lastRequestAt.size > 1 ? Math.max(1, Math.floor(maxConcurrent / 2)) : maxConcurrent
    return (runningByApplication.get(applicationId) ?? 0) < max
  }
  const begin = (applicationId: string) => {
    running += 1
    runningByApplication.set(applicationId, (runningByApplication.get(applicationId) ?? 0) + 1)
  }
  /** Gives freed slots to the next waiters synchronously, so that no new request overtakes them. */
  const end = (applicationId: string) => {
    running -= 1
    const left = (runningByApplication.get(applicationId) ?? 1) - 1
    if (left === 0) runningByApplication.delete(applicationId)
    else runningByApplication.set(applicationId, left)
    while (running < maxConcurrent) {
      const next = queue.next(mayBegin)
      if (!next) return
      begin(next.applicationId)
      next.settle('begin')
    }
  }
  const wait = (key: QueueKey): Promise<'begin' | 'shed'> =>
    new Promise((resolve) => {
      const settle: Waiting['settle'] = (how) => {
        clearTimeout(timer)
        if (how === 'shed') count('line')
        resolve(how)
      }
      const waiting = { ...key, settle }
      const timer = setTimeout(() => {
        queue.leave(waiting)
        settle('shed')
      }, MAX_WAIT_MS)
      queue.join(waiting)?.settle('shed')
    })

  return {
    overloaded: () => isSlow(SHORT_QUEUE_LEVEL) || performance.now() - lastShedAt < OVERLOADED_AFTER_SHED_MS,
    sheds: (what) => {
      const isOverLevel = isSlow(LEVELS[what])
      if (isOverLevel) count(what)
      return isOverLevel
    },
    enqueue: async (key, work) => {
      markActive(key.applicationId)
      if (running < maxConcurrent && mayBegin(key.applicationId)) begin(key.applicationId)
      else if (isSlow(SHORT_QUEUE_LEVEL) && queue.waitingOf(key.applicationId) > 0) return count('line')
      else if ((await wait(key)) === 'shed') return 'shed'
      try {
        return await work()
      } finally {
        end(key.applicationId)
      }
    },
    figures: () => ({ shed: { ...shedSinceStart }, delayMs: delay.ms() }),
    save: async () => {
      const saving = shed
      if (shedding !== saving > 0) events.shedding(saving)
      shedding = saving > 0
      if (saving === 0) return
      shed = 0
      await addShed(db, saving).catch((error) => {
        shed += saving
        throw error
      })
    },
    close: delay.close,
  }
}

const RESOLUTION_MS = 20

/** Sampling interval: long enough that a single pause does not count as load. */
const SAMPLE_MS = 1_000

/**
 * Expected wait of a request that arrives at a random moment until the event loop's next iteration, measured from
 * recent iterations: for iterations of length d, that is E[d²] / 2 E[d]. Reports the lower of the last two samples, so
 * that it takes two bad seconds to count.
 */
function measureDelay(): Delay {
  const rounds = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  rounds.enable()
  let latest = 0
  let before = 0
  const sampling = setInterval(() => {
    if (rounds.count === 0) return
    const [mean, deviation] = [rounds.mean / 1e6, rounds.stddev / 1e6]
    rounds.reset()
    before = latest
    // An idle loop wakes only for the monitor's own timer: subtract its share.
    latest = Math.max(0, (mean * mean + deviation * deviation) / (2 * mean) - RESOLUTION_MS / 2)
  }, SAMPLE_MS)
  sampling.unref()
  return {
    ms: () => Math.min(latest, before),
    close: () => {
      clearInterval(sampling)
      rounds.disable()
    },
  }
}
