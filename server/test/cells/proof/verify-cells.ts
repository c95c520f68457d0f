/**
 * Three cells on one machine: a PostgreSQL, a Redis and two servers for each, behind HAProxy. Set up by the commands of an operator.
 * Prints one JSON line for each step, and fails if a bound is missed. docs/scale.md, "Cells".
 *
 *   npm run verify:cells                                                       60,000 codes, a bucket with 20,000 grants: ten minutes
 *   npm run verify:cells -- --full                                             300,000 codes, a bucket with 100,000 grants
 *   npm run verify:cells -- --codes 3000 --grants 2000 --buckets 5 --seconds 3 the short form
 *
 * `--seconds`: how long the cell is away, and each window of polls. `--seed`: which cell is killed, and which codes are allowed.
 * `--only killed,moved,many,reloaded,cost`: some of the steps.
 */
import { parseArgs } from 'node:util'
import { createRandom } from '../../races/shared-login/virtual-time.ts'
import { compareCost } from './cost.ts'
import { openHarness } from './harness.ts'
import { killCell } from './killed-cell.ts'
import { moveLargeBucket, moveManyBuckets } from './moving-buckets.ts'
import { comparePrediction } from './prediction.ts'
import { reloadProxy } from './reloaded-proxy.ts'
import {
  describePolls,
  failuresOf,
  placeWaitingCodes,
  round,
  startPolls,
  takeCodes,
  takePolled,
} from './waiting-codes.ts'

const { values } = parseArgs({
  options: {
    codes: { type: 'string' },
    grants: { type: 'string' },
    buckets: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    full: { type: 'boolean', default: false },
  },
})
const count = Number(values.codes ?? (values.full ? 300_000 : 60_000))
const seconds = Number(values.seconds)
const seed = Number(values.seed)
const grants = Number(values.grants ?? (values.full ? 100_000 : 20_000))
const buckets = Number(values.buckets)
const only = values.only.split(',').filter((name) => name !== '')
/** Runs at the same time as other tests: times are printed and not judged. */
const short = seconds < 30
/** Rounds of the comparison with a single installation. */
const turns = short ? 2 : 10
if (!(count >= 3_000 && seconds >= 3)) throw new Error('--codes takes 3,000 or more, --seconds 3 or more')

/** Of each cell: what two cores carry without being busy, so that a p99 is that of the cells and not of the queue for a core. */
const POLLS_PER_SECOND = 100

const begun = performance.now()

/** Prints the result of a step, and remembers whether it missed a bound. */
function judge<Result extends { readonly missed: readonly string[] }>(result: Result): Result {
  console.log(JSON.stringify({ ...result, at_seconds: Math.round((performance.now() - begun) / 1000) }))
  if (result.missed.length > 0) process.exitCode = 1
  return result
}

await openHarness(async (harness) => {
  const random = createRandom(seed)
  const placed = await placeWaitingCodes(harness, count)
  const take = takeCodes(placed, random)
  const polled = takePolled(placed, take)
  const polls = startPolls(harness, polled, POLLS_PER_SECOND)
  try {
    const measured = await polls.run(seconds)
    const failed = measured.reduce((sum, each) => sum + failuresOf(each), 0)
    judge({
      step: 'waiting codes',
      codes: count,
      postgres_bytes_per_code: round(placed.reduce((sum, { postgresBytes }) => sum + postgresBytes, 0) / count),
      redis_bytes_per_code: round(placed.reduce((sum, { redisBytes }) => sum + redisBytes, 0) / count),
      polls: describePolls(measured),
      missed: failed > 0 ? [`${failed} polls of waiting codes failed`] : [],
    })
    const steps: Readonly<Record<string, () => Promise<void>>> = {
      killed: async () => {
        const sample = Math.min(180, Math.floor(count / 100))
        judge(await killCell(harness, { polls, take, victim: seed % harness.cells.length, seconds, sample }))
      },
      moved: async () => {
        const normalMs = Math.min(5, seconds) * 1000
        const maxGapMs = short ? Number.POSITIVE_INFINITY : 1_000
        judge(await moveLargeBucket(harness, { polls, take, grants, normalMs, maxGapMs }))
      },
      many: async () => {
        judge(await moveManyBuckets(harness, polls, buckets))
      },
      reloaded: async () => {
        judge(await reloadProxy(harness, polls))
      },
      cost: async () => {
        const length = Math.max(1, Math.min(6, seconds / 5))
        const { rounds, polledCodes, result } = await compareCost(harness, polled, turns, length)
        judge(result)
        judge(comparePrediction(placed, rounds, polledCodes))
      },
    }
    for (const [name, run] of Object.entries(steps)) if (only.length === 0 || only.includes(name)) await run()
  } finally {
    polls.stop()
  }
})
