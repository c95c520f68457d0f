/** Processor time of processes, to the nanosecond: clock ticks of 10 ms are too coarse for processes that mostly wait. */
import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks of Linux per second, on every machine. */
const CLOCK_TICKS = 100

/** Of all threads that run now (proc(5), schedstat: the first field). */
export function processorSeconds(pids: readonly number[]): number {
  return pids.flatMap(threadsOf).reduce((sum, file) => sum + nanoseconds(file), 0) / 1e9
}

/** Of all children that ended, in seconds (proc(5), stat: fields 16 and 17, in clock ticks). */
export function endedChildrenSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`)
  } catch {
    return []
  }
}

/** A thread may end between being listed and being read. */
function nanoseconds(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0])
  } catch {
    return 0
  }
}
