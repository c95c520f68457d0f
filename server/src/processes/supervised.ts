/** A process under a supervisor: obeys its orders instead of signals, and reports to it. */
import cluster from 'node:cluster'
import type { Family } from '../telemetry/family.ts'
import type { Order, Report } from './messages.ts'

export const isSupervised = (): boolean => cluster.isWorker

type Supervised = {
  readonly address: string
  /** Resolves even while PostgreSQL is unavailable. */
  readMetrics(): Promise<readonly Family[]>
  /** Works after `stop`: reads only the memory of this process. */
  readCounters(): readonly Family[]
  stop(how: 'stop' | 'replace'): Promise<void>
}

/** Resolves when the process was told to end and has stopped. If the supervisor dies, node:cluster ends this process. */
export async function obeySupervisor(service: Supervised): Promise<void> {
  // A terminal and systemd signal every process of a group, and a second signal would end this one at once.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const how = new Promise<'stop' | 'replace'>((resolve) => {
    process.on('message', (message: Order) => {
      if (message.order !== 'metrics') return resolve(message.order)
      const { id } = message
      // On failure nothing is sent: after METRICS_MS the supervisor uses the last report.
      service.readMetrics().then(
        (families) => tell({ report: 'metrics', id, families }),
        () => {},
      )
    })
  })
  await tell({ report: 'listening', address: service.address })
  await service.stop(await how)
  await tell({ report: 'last', families: service.readCounters() })
}

/** Closes the channel to the supervisor, which would keep this process alive, also if its start has failed. */
export function leaveSupervisor(): void {
  cluster.worker?.disconnect()
}

function tell(report: Report): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(report, undefined, undefined, () => resolve())
  })
}
