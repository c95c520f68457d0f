/**
 * Preloaded into a server: on SIGUSR2 it prints the processor time that the process used since it was last asked, and for
 * how long its event loop was busy at a time. The latter is the delay of the event loop, without what other programs on
 * the machine add to it.
 */
import { writeSync } from 'node:fs'

let since = process.cpuUsage()
let busyMs: number[] = []
let before = process.threadCpuUsage()

setInterval(() => {
  const { user, system } = process.threadCpuUsage(before)
  busyMs.push((user + system) / 1000)
  before = process.threadCpuUsage()
}, 1).unref()

process.on('SIGUSR2', () => {
  const { user, system } = process.cpuUsage(since)
  const sorted = busyMs.toSorted((a, b) => a - b)
  const delays = { p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0, maxMs: sorted.at(-1) ?? 0 }
  writeSync(1, `load ${JSON.stringify({ cpuMs: (user + system) / 1000, ...delays })}\n`)
  since = process.cpuUsage()
  busyMs = []
})
