/** Messages between the supervisor and its processes, over the IPC channel of node:cluster. */
import type { Family } from '../telemetry/family.ts'

/**
 * `stop`: the whole service ends; /health/ready fails, so that load balancers notice. `replace`: another process
 * already accepts connections from the same socket; /health/ready keeps succeeding.
 */
export type Order = { readonly order: 'stop' | 'replace' } | { readonly order: 'metrics'; readonly id: number }

export type Report =
  | { readonly report: 'listening'; readonly address: string }
  | { readonly report: 'metrics'; readonly id: number; readonly families: readonly Family[] }
  /** Counters and histograms at the end of the process, so that the sums over all processes never decrease. */
  | { readonly report: 'last'; readonly families: readonly Family[] }
