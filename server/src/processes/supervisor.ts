/**
 * `latchkey serve --processes N`: a supervisor that serves no requests itself, and N processes that accept connections
 * from one listening socket. A process that dies is started again; SIGHUP replaces all, one after the other; SIGTERM
 * drains all. docs/history.md#0053.
 */
import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandRefused } from '../cli/client/output.ts'
import { everyOption, readConfig } from '../config.ts'
import { createEvents, type Events } from '../events.ts'
import { startMetricsServer } from '../http/metrics-server.ts'
import { createCounter, type Family, gauge } from '../telemetry/family.ts'
import { countedBy, mergeFamilies } from '../telemetry/merge.ts'
import { readProcess } from '../telemetry/process-figures.ts'
import { type Child, startChild } from './child.ts'

/**
 * Back-off before a dead process is started again. It starts at FIRST_WAIT_MS, doubles with every successor that dies
 * within STEADY_MS of its start, and is at most MAX_WAIT_MS.
 */
const FIRST_WAIT_MS = 100
const MAX_WAIT_MS = 10_000
const STEADY_MS = 60_000

/** Failed starts in a row after which the supervisor gives up, if no process is left: about a minute. */
const MAX_FAILED_STARTS = 12

/**
 * Time that a stopping process has after DRAIN_SECONDS, before it is killed. docs/operations/upgrade.md, "Drain and
 * rolling restart".
 */
const AFTER_DRAIN_MS = 40_000

/** Runs until SIGTERM or SIGINT, then drains all processes. A second signal exits at once. */
export async function supervise(count: number): Promise<void> {
  const config = readConfig(everyOption)
  const events = createEvents(config.logLevel)
  const processes = createProcesses(count, config.drainMs + AFTER_DRAIN_MS, events)
  const metrics = await startMetricsServer({ config, events }, processes.readMetrics)
  if (metrics) events.metricsListening(metrics.address)
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
  process.on('SIGHUP', processes.replaceAll)
  const failed = processes.start().then(
    (address) => {
      events.supervising(count, address)
      if (count > 1 && config.redisUrl === null) events.gateNotShared()
      return processes.failed
    },
    (error: Error) => error,
  )
  const failure = await Promise.race([stopped, failed])
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1))
  await processes.stop()
  await metrics?.close()
  if (failure) throw failure
}

type Processes = {
  /** The address, when all processes listen. */
  start(): Promise<string>
  /** Resolves if no process is left and none can be started. */
  readonly failed: Promise<Error>
  replaceAll(): void
  readMetrics(): Promise<readonly Family[]>
  stop(): Promise<void>
}

function createProcesses(count: number, endMs: number, events: Events): Processes {
  // Every process accepts from one socket, which also the supervisor keeps open: a connection that a process did not
  // accept before it ended is accepted by another.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // Not the default, JSON: metrics may be NaN or infinite.
  cluster.setupPrimary({ serialization: 'advanced' })
  const children = new Set<Child>()
  /** Told to end, or about to be: not started again. */
  const leaving = new Set<Child>()
  const deaths = createCounter<never>(
    { name: 'latchkey_process_deaths_total', help: 'Number of processes that ended without being told to.' },
    [],
    [[]],
  )
  const failure = Promise.withResolvers<Error>()
  const stopping = new AbortController()
  /** Counters of the processes that have ended. */
  let endedCounters: readonly Family[] = []
  let replacing: Promise<void> | null = null
  let again = false

  /** Resolves when the process listens. `waits`: before this start, since a process lived for a minute. */
  const startOne = async (waits = 0): Promise<string> => {
    const child = startChild()
    let hasListened = false
    children.add(child)
    void child.ended.then((how) => {
      children.delete(child)
      endedCounters = mergeFamilies([endedCounters, countedBy(child.metrics())])
      if (leaving.delete(child) || stopping.signal.aborted) return
      deaths.add()
      events.processDied(child.pid, how)
      if (hasListened) void startAgain(performance.now() - child.startedAt < STEADY_MS ? waits : 0)
    })
    const address = await child.listening
    hasListened = true
    return address
  }
  const startAgain = async (waits: number, failedStarts = 0): Promise<void> => {
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** waits, MAX_WAIT_MS)
    await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => {})
    if (stopping.signal.aborted) return
    await startOne(waits + 1).catch((error: Error) => {
      if (failedStarts + 1 >= MAX_FAILED_STARTS && children.size === 0) return failure.resolve(error)
      return startAgain(waits + 1, failedStarts + 1)
    })
  }
  /** The successor listens before its predecessor stops. */
  const replaceOne = async (old: Child): Promise<void> => {
    leaving.add(old)
    try {
      await startOne()
    } catch (error) {
      if (!leaving.delete(old)) void startAgain(0)
      throw error
    }
    if (children.has(old)) await old.end('replace', endMs)
  }
  const replaceEach = async (): Promise<void> => {
    const all = [...children].filter((child) => !leaving.has(child))
    events.replacing(all.length)
    for (const old of all) if (children.has(old) && !stopping.signal.aborted) await replaceOne(old)
    if (!stopping.signal.aborted) events.replaced()
  }
  /** During a replacement: once more after it, whether it succeeds or fails. */
  const replaceAll = (): void => {
    again = replacing !== null
    replacing ??= replaceEach()
      .catch(events.replaceFailed)
      .finally(() => {
        replacing = null
        if (again && !stopping.signal.aborted) replaceAll()
      })
  }

  return {
    start: async () => {
      // The first process starts alone, so that the reason of a failed start is logged only once.
      const address = await startOne().catch(() => {
        throw new CommandRefused('The first process did not start.')
      })
      // Otherwise `stop` was called meanwhile, and would not end them.
      if (!stopping.signal.aborted) await Promise.all(Array.from({ length: count - 1 }, () => startOne()))
      return address
    },
    failed: failure.promise,
    replaceAll,
    readMetrics: async () => {
      await Promise.all([...children].map((child) => child.refresh()))
      const own = [
        gauge('latchkey_processes', 'Number of processes.', children.size),
        deaths.family(),
        ...readProcess(),
      ]
      // A process that ended while the others reported is in `endedCounters`, and no longer in `children`.
      return mergeFamilies([endedCounters, ...Array.from(children, (child) => child.metrics()), own])
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(Array.from(children, (child) => child.end('stop', endMs)))
      events.stopped()
    },
  }
}
