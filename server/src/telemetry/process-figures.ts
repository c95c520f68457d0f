/**
 * Metrics of the process itself (CPU, memory, start time), under the usual names of Prometheus clients, and its
 * version.
 */
import { readFileSync } from 'node:fs'
import { type Family, gauge } from './family.ts'

// The same relative path from src/telemetry/ and from dist/telemetry/.
const about = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

export const VERSION = about.version

export function readProcess(): readonly Family[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  return [
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time that was used.',
      type: 'counter',
      samples: [{ labels: {}, value: (user + system) / 1e6 }],
    },
    gauge('process_resident_memory_bytes', 'Memory that is resident.', rss),
    gauge('process_start_time_seconds', 'When the process started, since 1970.', performance.timeOrigin / 1000),
    gauge('nodejs_heap_size_total_bytes', 'The heap.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'What of the heap is in use.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', external),
    gauge('latchkey_build_info', 'Which version this is.', [
      { labels: { version: VERSION, node_version: process.version }, value: 1 },
    ]),
  ]
}
