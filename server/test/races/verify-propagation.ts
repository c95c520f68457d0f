/**
 * npm run verify -- propagation [--changes N]: every change that reduces the rights of a credential reaches every process within
 * two seconds, although none looks up a credential in use. docs/interface/credentials.md, "Check a credential".
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { KINDS, makeStage, prepare } from './propagation-changes.ts'
import { type Watched, watchChange } from './propagation-watch.ts'
import { openRaceHarness } from './race-harness.ts'
import { inLanes } from './race-track.ts'

const LIMIT_MS = 2_000

/** Concurrent changes: a thousand requests a second, which leaves two cores mostly idle. */
const LANES = 12

/**
 * Share of processes that still accepted after the commit: on a busy machine some are asked too late for that.
 * Without a cache there are none.
 */
const REMEMBERED_SHARE = 0.5

const { values } = parseArgs({ options: { changes: { type: 'string', default: '1000' } } })
const count = Number(values.changes)
if (!(Number.isInteger(count) && count > 0)) throw new Error('--changes takes a number')

const harness = await openRaceHarness({ ACCESS_KEY_OVERLAP: '0' })
try {
  const stage = await makeStage(harness.context)
  const kindOf = (index: number) => KINDS[index % KINDS.length] ?? 'revoked'
  const changes = await inLanes(count, 4, (index) => prepare[kindOf(index)](stage))
  const addresses = await harness.startServers()
  // The first requests of a process are slow.
  await sleep(1_000)

  const watched = await inLanes(count, LANES, (index) => {
    const change = changes[index]
    if (!change) throw new Error(`there is no change ${index}`)
    return watchChange(addresses, index, change)
  })

  const slow = watched.flatMap(({ ms }, index) =>
    ms > LIMIT_MS ? [`change ${index} (${kindOf(index)}) took ${Math.round(ms)} ms`] : [],
  )
  const problems = [...watched.flatMap((each) => each.problems), ...slow, ...harness.complaints()]
  const remembered = watched.reduce((total, each) => total + each.remembered, 0)
  const watches = count * addresses.length
  const refused = watched.reduce((total, each) => total + each.refused, 0)
  if (refused !== watches) problems.push(`${refused} processes refused in the end of ${watches} that were watched`)
  if (remembered < watches * REMEMBERED_SHARE) problems.push(`only ${remembered} of ${watches} credentials were hot`)

  for (const kind of KINDS) {
    console.log(`propagation: kind=${kind} ${times(watched.filter((_, index) => kindOf(index) === kind))}`)
  }
  for (const problem of problems.slice(0, 20)) console.error(`propagation: ${problem}`)
  console.log(
    `propagation: changes=${watched.length} processes=${addresses.length} refused=${refused} ${times(watched)} remembered=${remembered} problems=${problems.length}`,
  )
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await harness.end()
}

function times(watched: readonly Watched[]): string {
  const sorted = watched.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return `worst_ms=${at(1)} p99_ms=${at(0.99)} median_ms=${at(0.5)}`
}
