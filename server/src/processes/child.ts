/** One process of the service, as its supervisor sees it. */
import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Family } from '../telemetry/family.ts'
import { countedBy } from '../telemetry/merge.ts'
import type { Order, Report } from './messages.ts'

/** A process that is too busy to report within this time is counted with its last report. */
export const METRICS_MS = 2_000

/** Stands for the number of a report, which are counted from 1: there will be none. */
const ENDED = 0

export type Child = {
  readonly pid: number
  readonly startedAt: number
  /** Its address; rejects if the process ends before it listens. */
  readonly listening: Promise<string>
  /** How it ended, in words. */
  readonly ended: Promise<string>
  /** Resolves when the process has ended; it is killed if it needs longer than `withinMs`. */
  end(how: 'stop' | 'replace', withinMs: number): Promise<void>
  /** Asks for a new report, unless one was asked for and is still to come. Never fails. */
  refresh(): Promise<void>
  /** The last report. */
  metrics(): readonly Family[]
}

export function startChild(): Child {
  const worker = cluster.fork()
  let metrics: readonly Family[] = []
  let asked = 0
  let answered = (_id: number): void => {}
  let refreshing: Promise<void> | null = null
  const send = (order: Order) => {
    // The process may have ended a moment ago.
    if (worker.isConnected()) worker.send(order, () => {})
  }
  const ended = once(worker, 'exit').then(
    ([status, signal]) => (signal ? `ended by ${signal}` : `status ${status}`),
    // No process was created: there are too many, or too many open files.
    (error: Error) => error.message,
  )
  const listening = new Promise<string>((resolve, reject) => {
    void ended.then((how) => reject(new Error(`the process ended before it listened: ${how}`)))
    worker.on('message', (message: Report) => {
      if (message.report === 'listening') return resolve(message.address)
      metrics = message.report === 'last' ? countedBy(message.families) : message.families
      if (message.report === 'metrics') answered(message.id)
    })
  })
  // A rejection that no caller awaits would end the supervisor.
  listening.catch(() => {})
  // Once and not per question: `ended` would keep every one of them until the process ends.
  void ended.then(() => answered(ENDED))
  const ask = () =>
    new Promise<void>((resolve) => {
      asked += 1
      const id = asked
      const timer = setTimeout(resolve, METRICS_MS)
      const settle = () => {
        clearTimeout(timer)
        resolve()
      }
      answered = (answeredId) => (answeredId === id || answeredId === ENDED) && settle()
      send({ order: 'metrics', id })
    })
  return {
    pid: worker.process.pid ?? 0,
    startedAt: performance.now(),
    listening,
    ended,
    end: async (how, withinMs) => {
      send({ order: how })
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), withinMs)
      await ended
      clearTimeout(timer)
    },
    refresh: () => {
      refreshing ??= ask().finally(() => {
        refreshing = null
      })
      return refreshing
    },
    metrics: () => metrics,
  }
}
