/**
 * The server part: sequences of operations against running servers over HTTP, many at a time, compared with the model.
 *
 * Most lanes share one service, as devices do: its gate, its batched reads and its pools. The others have a
 * service and a database each, because moving a clock moves it for every code of a database.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { readClock } from '../../src/store/device/partitions.ts'
import { KEPT_MS } from './reference-model.ts'
import { type Checked, describe, Seen, seedFor } from './seen.ts'
import type { ServerCode } from './server-code.ts'
import { serverSequences } from './server-operations.ts'
import { liveOnServer } from './server-sequence.ts'
import { startWorld, type World } from './server-world.ts'

const SHARED_LANES = 32
const CLOCK_LANES = 8

/** Their sequences wait for leases; without a minimum they would run too few operations before the others are done. */
const MIN_SEQUENCES_PER_CLOCK = 32

/** Time limit for shrinking a failing sequence; real waits make that slow. */
const SHRINK_MS = 60_000

/** The server pulls PostgreSQL's time each second. */
const CLOCK_KNOWN_MS = 1_500

export async function checkServer(seed: number, leastOperations: number): Promise<Checked> {
  const seen = new Seen()
  let divergence: string | null = null
  const worlds: World[] = []
  try {
    const shared = await startWorld(false)
    worlds.push(shared)
    for (let lane = 0; lane < CLOCK_LANES; lane += 1) worlds.push(await startWorld(true))

    const run = async (world: World, lane: number) => {
      const codes: ServerCode[] = []
      const property = fc.asyncProperty(serverSequences(world.clock), async (sequence) => {
        if (divergence !== null) return
        codes.push(await liveOnServer(world, sequence, seen))
      })
      const enough = () =>
        seen.operations >= leastOperations && (!world.clock || codes.length >= MIN_SEQUENCES_PER_CLOCK)
      for (let round = 0; !enough() && divergence === null; round += 1) {
        const own = seedFor(seed, 1 + lane, round)
        const result = await fc.check(property, { seed: own, numRuns: 2, interruptAfterTimeLimit: SHRINK_MS })
        // Interrupted without a counterexample: the machine is slow.
        if (result.failed && result.counterexample !== null) divergence ??= describe(result)
      }
      return codes
    }
    const sharedLanes = Array.from({ length: SHARED_LANES }, (_, lane) => run(shared, lane))
    const ownLanes = worlds.slice(1).map(async (world, index) => {
      const codes = await run(world, SHARED_LANES + index)
      divergence ??= await forget(world, codes, seen)
    })
    await Promise.all([...sharedLanes, ...ownLanes])
  } finally {
    await Promise.all(worlds.map((world) => world.service.stop()))
  }
  return { operations: seen.operations, seen, divergence: divergence ?? seen.missing(SHOULD_HAPPEN) }
}

const SHOULD_HAPPEN: Readonly<Record<string, readonly string[]>> = {
  poll: [
    ...['auth_pending', 'slow_down', 'invalid', 'accepted', 'rejected', 'expired'],
    ...['accepted again', 'rejected again', 'expired again'],
  ],
  'held poll': ['auth_pending', 'invalid', 'accepted', 'rejected'],
  'poll twice at once': ['auth_pending and slow_down', 'accepted and invalid', 'rejected and invalid'],
  stranger: ['invalid'],
  vanish: ['accepted', 'rejected'],
  die: ['accepted', 'expired'],
  claim: ['claimed', 'taken', 'closed', 'not_recognised'],
  'take over': ['claimed', 'closed'],
  grant: ['granted', 'not_open'],
  reject: ['rejected', 'not_open'],
  advance: ['pending', 'accepted', 'expired'],
  'poll when it is forgotten': ['invalid'],
}

/** A day after expiry every code answers `invalid`, without a look-up. */
async function forget(world: World, codes: readonly ServerCode[], seen: Seen): Promise<string | null> {
  const last = codes.slice(-10)
  if (last.length === 0) return null
  const latest = Math.max(...last.map((code) => code.model.expiresAt))
  await world.service.database.advance(latest + KEPT_MS - (await readClock(world.service.context.db)))
  await sleep(CLOCK_KNOWN_MS)
  for (const code of last) {
    code.setClock(await readClock(world.service.context.db))
    try {
      seen.add('poll when it is forgotten', await code.poll(null))
    } catch (error) {
      return `A code that should be forgotten: ${(error as Error).message}`
    }
  }
  return null
}
