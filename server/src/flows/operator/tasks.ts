/** Status of the background tasks of this process: last success and last failure of each. */
import type { TaskLine } from '../../core/operator/listed.ts'

export type Tasks = {
  started(name: string, everyMs: number): void
  succeeded(name: string): void
  failed(name: string, error: unknown): void
  list(): readonly TaskLine[]
}

/** A task is overdue after this many intervals without a success, plus the slack for slow runs. */
const TURNS = 3
const SLACK_MS = 30_000

type Known = { everyMs: number; startedAt: number; succeededAt: number | null; failedAt: number | null; reason: string }

export function createTasks(clock: () => number = () => performance.now()): Tasks {
  const tasks = new Map<string, Known>()
  return {
    started: (name, everyMs) => {
      tasks.set(name, { everyMs, startedAt: clock(), succeededAt: null, failedAt: null, reason: '' })
    },
    succeeded: (name) => {
      const task = tasks.get(name)
      if (task) task.succeededAt = clock()
    },
    failed: (name, error) => {
      const task = tasks.get(name)
      if (!task) return
      task.failedAt = clock()
      task.reason = (error instanceof Error ? error.message : String(error)).slice(0, 200)
    },
    list: () => {
      const now = clock()
      const ago = (at: number | null) => (at === null ? null : now - at)
      return Array.from(tasks, ([name, { everyMs, startedAt, succeededAt, failedAt, reason }]) => ({
        name,
        everyMs,
        succeededAgoMs: ago(succeededAt),
        failedAgoMs: ago(failedAt),
        failure: failedAt === null ? null : reason,
        overdue: now - (succeededAt ?? startedAt) > TURNS * everyMs + SLACK_MS,
      }))
    },
  }
}
