/**
 * Metrics of the process itself (CPU, memory, start time), under the usual names of Prometheus clients, and its
 * version.
 */
import { VERSION } from '../version.ts'
import { type Family, gauge } from './family.ts'

export function readProcess(): readonly Family[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  return [
    {
      name: 'process_cpu_seconds_total',
      help: 'User and system CPU time used in seconds.',
      type: 'counter',
      samples: [{ labels: {}, value: (user + system) / 1e6 }],
    },
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', rss),
    gauge(
      'process_start_time_seconds',
      'Start time of the process in seconds since the Unix epoch.',
      performance.timeOrigin / 1000,
      'min',
    ),
    gauge('nodejs_heap_size_total_bytes', 'Size of the V8 heap in bytes.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Used part of the V8 heap in bytes.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory of C++ objects bound to JavaScript objects in bytes.', external),
    gauge(
      'latchkey_build_info',
      'Always 1; the labels hold the versions of Latchkey and Node.js.',
      [{ labels: { version: VERSION, node_version: process.version }, value: 1 }],
      'max',
    ),
  ]
}
