/**
 * A decision reaches the device at once: tens of thousands of held polls over several processes, and users who decide at a
 * steady rate. Prints one JSON line for each part, and fails if a goal is missed.
 *
 *   npm run verify:at-once                                            50,000 held polls, 200 decisions a second for 60 s, with Redis and without
 *   npm run verify:at-once -- --held 300 --rate 20 --seconds 5        the short form
 *   npm run verify:at-once -- --full                                  then 100,000 decisions while Redis, PostgreSQL and processes are killed
 *   npm run verify:at-once -- --full --faults                         only these
 *   npm run verify:at-once -- --faults --held 2000 --rate 50 --seconds 30    only that, smaller
 */
import { parseArgs } from 'node:util'
import { measureFaults } from './at-once-faults.ts'
import { openAtOnceHarness } from './at-once-harness.ts'
import { measureLatency, WARM_UP_SECONDS } from './at-once-latency.ts'

/** With fewer, a p99 is random. */
const MIN_DECISIONS = 100

/**
 * The full form with faults: rounds of this size until there were so many decisions, an hour and a half in all. Processes are
 * killed faster than two cores can connect many more devices again.
 */
const FULL_DECISIONS = 100_000
const FULL_ROUND = { held: 3_000, rate: 25, seconds: 110 }

const { values } = parseArgs({
  options: {
    held: { type: 'string', default: '50000' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    faults: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
  },
})
const size = { held: Number(values.held), rate: Number(values.rate), seconds: Number(values.seconds) }
const decisions = size.rate * size.seconds
if (decisions < MIN_DECISIONS || !(size.rate * (size.seconds + WARM_UP_SECONDS) <= size.held))
  throw new Error(`--rate times --seconds, and ${WARM_UP_SECONDS} seconds of warm-up, takes ${MIN_DECISIONS} to --held`)

const judge = (result: { readonly missed: readonly string[] }) => {
  console.log(JSON.stringify(result))
  if (result.missed.length > 0) process.exitCode = 1
}

if (!values.faults) {
  for (const redis of [true, false]) judge(await openAtOnceHarness(redis, (harness) => measureLatency(harness, size)))
}
if (values.faults || values.full) {
  const round = values.full ? FULL_ROUND : size
  const rounds = values.full ? Math.ceil(FULL_DECISIONS / (round.rate * round.seconds)) : 1
  for (let done = 0; done < rounds; done += 1)
    judge(await openAtOnceHarness(true, (harness) => measureFaults(harness, round)))
}
