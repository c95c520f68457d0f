/**
 * How busy this process is, and what it leaves undone when it is too busy. docs/interface.md, "Too busy".
 *
 * What is new is turned away first: code requests, then dialogs, then the developer console. Polls, exchanges, refreshes,
 * revocations, checks and what people decide never are. New codes and dialogs share half of the connections to PostgreSQL, in turn by
 * application and network, so that the other half is always there for what was begun before.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Config } from '../../config.ts'
import type { Events } from '../../events.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import { addShed } from '../../store/reviews/overloads.ts'
import { createFairQueue, type QueueKey } from './fair-queue.ts'

export type Load = {
  /** Requests wait too long before they are even looked at, or somebody was turned away a moment ago. */
  overloaded(): boolean
  /** Whether one of these is turned away now. It is counted. */
  sheds(what: Sheddable): boolean
  /** Does the work when it is its turn. `shed`: there were too many before it. */
  enqueue<T>(key: QueueKey, work: () => Promise<T>): Promise<T | 'shed'>
  /** Since the process started, what was turned away; and how things stand. */
  figures(): LoadFigures
  /** Writes down how many were turned away, if any; throws when PostgreSQL is away. */
  save(): Promise<void>
  close(): void
}

export type LoadFigures = {
  readonly shed: Readonly<Record<Sheddable | 'line', number>>
  /** How long requests wait before they are looked at, as OVERLOAD_DELAY counts it. */
  readonly delayMs: number
}

/** How long requests wait before they are looked at. */
export type Delay = { ms(): number; close(): void }

export type Sheddable = 'code' | 'dialog' | 'page'

/**
 * Of OVERLOAD_DELAY: from the first level on only one of each application waits in line, and the others are turned away; from the
 * next ones on all of these are, whether there would be a connection for them or not. In between, as much gets done as ever.
 */
const SHORT_LINE = 1
const LEVELS: Readonly<Record<Sheddable, number>> = { code: 4, dialog: 8, page: 16 }

/** An application counts as one that others have to share with for so long after it asked. */
const ASKING_MS = 10_000

/** For all applications together: as many as PostgreSQL gets done while the first of them waits. */
const ROOM = 1_000

/** Whoever waits longer has given up, or will ask again. */
const MAX_WAIT_MS = 2_000

/** For so long after somebody was turned away this process calls itself overloaded. */
const AFTERMATH_MS = 2_000

type Waiting = QueueKey & { readonly settle: (how: 'begin' | 'shed') => void }

export type Given = {
  readonly config: Pick<Config, 'databaseConnections' | 'overloadDelayMs'>
  readonly db: Queryable
  readonly events: Pick<Events, 'shedding'>
}

export function createLoad({ config, db, events }: Given, delay: Delay = measureDelay()): Load {
  const abreast = Math.max(1, Math.floor(config.databaseConnections / 2))
  const queue = createFairQueue<Waiting>(ROOM)
  const working = new Map<string, number>()
  /** When each application asked last, the latest at the end. */
  const asking = new Map<string, number>()
  let atWork = 0
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

  const asks = (applicationId: string) => {
    const now = performance.now()
    asking.delete(applicationId)
    asking.set(applicationId, now)
    for (const [other, at] of asking) {
      if (now - at < ASKING_MS) break
      asking.delete(other)
    }
  }
  /** While others ask too, no application has more than half: there is always a key for one who comes now and then. */
  const mayBegin = (applicationId: string): boolean => {
    const max = asking.size > 1 ? Math.max(1, Math.floor(abreast / 2)) : abreast
    return (working.get(applicationId) ?? 0) < max
  }
  const begin = (applicationId: string) => {
    atWork += 1
    working.set(applicationId, (working.get(applicationId) ?? 0) + 1)
  }
  /** GeoIp that became free are taken by the next in line here and now: nobody slips in between. */
  const end = (applicationId: string) => {
    atWork -= 1
    const left = (working.get(applicationId) ?? 1) - 1
    if (left === 0) working.delete(applicationId)
    else working.set(applicationId, left)
    while (atWork < abreast) {
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
    overloaded: () => isSlow(SHORT_LINE) || performance.now() - lastShedAt < AFTERMATH_MS,
    sheds: (what) => {
      const away = isSlow(LEVELS[what])
      if (away) count(what)
      return away
    },
    enqueue: async (key, work) => {
      asks(key.applicationId)
      if (atWork < abreast && mayBegin(key.applicationId)) begin(key.applicationId)
      else if (isSlow(SHORT_LINE) && queue.waitingOf(key.applicationId) > 0) return count('line')
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

/** Long enough that one pause is not taken for a load. */
const LOOK_MS = 1_000

/**
 * How long somebody who arrives at any moment waits until the event loop comes round, by what it took lately: with rounds of
 * length d, that is E[d²] / 2 E[d]. Of the last two looks the better one, so that it takes two bad seconds to count.
 */
function measureDelay(): Delay {
  const rounds = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  rounds.enable()
  let latest = 0
  let before = 0
  const looking = setInterval(() => {
    if (rounds.count === 0) return
    const [mean, deviation] = [rounds.mean / 1e6, rounds.stddev / 1e6]
    rounds.reset()
    before = latest
    // An idle loop comes round whenever the measurement itself wants it to.
    latest = Math.max(0, (mean * mean + deviation * deviation) / (2 * mean) - RESOLUTION_MS / 2)
  }, LOOK_MS)
  looking.unref()
  return {
    ms: () => Math.min(latest, before),
    close: () => {
      clearInterval(looking)
      rounds.disable()
    },
  }
}
