/** Processor time that the host of this virtual machine gave to others (`steal` of /proc/stat): figures measured meanwhile are theirs, too. */
import { readFileSync } from 'node:fs'

const STEAL = 7

/** Starts to measure; the returned function says how many percent of the processor time since then were stolen. */
export function measureStolenTime(): () => number {
  const from = readTimes()
  return () => {
    const spent = readTimes().map((ticks, index) => ticks - (from[index] ?? 0))
    const all = spent.reduce((sum, ticks) => sum + ticks, 0)
    return Math.round(((spent[STEAL] ?? 0) / Math.max(1, all)) * 100)
  }
}

/** Ticks by state, without those of guests: they are in `user` and `nice` already. */
function readTimes(): number[] {
  const [, ...times] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/) ?? []
  return times.slice(0, STEAL + 1).map(Number)
}
