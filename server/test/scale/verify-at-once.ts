/**
 * A decision reaches the device at once: tens of thousands of held polls over several processes, and users who decide at a
 * steady rate. Prints one JSON line for each part, and fails if a goal is missed.
 *
 *   npm run verify -- at-once                                                50,000 held polls, 200 decisions a second for 60 s, with Redis and without
 *   npm run verify -- at-once --held 300 --rate 20 --seconds 5               the short form
 *   npm run verify -- at-once --full                                         then 100,000 decisions while Redis, PostgreSQL and processes are killed
 *   npm run verify -- at-once --full --faults                                only these: rounds, and the next call continues after the last
 *   npm run verify -- at-once --faults --held 2000 --rate 50 --seconds 30    only that, smaller
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { measureFaults } from './at-once-faults.ts'
import { openAtOnceHarness } from './at-once-harness.ts'
import { measureLatency, WARM_UP_SECONDS } from './at-once-latency.ts'

/** With fewer, a p99 is random. */
const MIN_DECISIONS = 100

/**
 * The full form with faults: rounds of this size until there were so many decisions, an hour in all. Processes are
 * killed faster than two cores can connect many more devices again.
 */
const FULL_DECISIONS = 100_000
const FULL_ROUND = { held: 4_800, rate: 40, seconds: 110 }

/** A line of JSON for each round of the full form. */
const ROUNDS = new URL('../../../.verify/at-once-faults.jsonl', import.meta.url)

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

const judge = <R extends { readonly missed: readonly string[] }>(result: R) => {
  console.log(JSON.stringify(result))
  if (result.missed.length > 0) process.exitCode = 1
}

if (!values.faults) {
  for (const redis of [true, false]) judge(await openAtOnceHarness(redis, (harness) => measureLatency(harness, size)))
}
if (values.full) judgeRounds(await runRounds())
else if (values.faults) judge(await openAtOnceHarness(true, (harness) => measureFaults(harness, size)))

type Round = Awaited<ReturnType<typeof measureFaults>>

async function runRounds(): Promise<readonly Round[]> {
  mkdirSync(new URL('.', ROUNDS), { recursive: true })
  const rounds: Round[] = existsSync(ROUNDS)
    ? readFileSync(ROUNDS, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : []
  while (sum(rounds, 'decisions') < FULL_DECISIONS) {
    const round = await openAtOnceHarness(true, (harness) => measureFaults(harness, FULL_ROUND))
    judge(round)
    rounds.push(round)
    appendFileSync(ROUNDS, `${JSON.stringify(round)}\n`)
  }
  rmSync(ROUNDS)
  return rounds
}

function judgeRounds(rounds: readonly Round[]): void {
  const worst = (figure: 'p50_ms' | 'p99_ms' | 'max_ms') => Math.max(...rounds.map((round) => round[figure]))
  judge({
    verify: 'at-once-faults-full',
    rounds: rounds.length,
    decisions: sum(rounds, 'decisions'),
    killed: sum(rounds, 'killed'),
    worst_p50_ms: worst('p50_ms'),
    worst_p99_ms: worst('p99_ms'),
    max_ms: worst('max_ms'),
    lost: sum(rounds, 'lost'),
    repeated: sum(rounds, 'repeated'),
    double: sum(rounds, 'double'),
    histories: sum(rounds, 'histories'),
    refused: sum(rounds, 'refused'),
    missed: [...new Set(rounds.flatMap(({ missed }) => missed))],
  })
}

function sum(
  rounds: readonly Round[],
  figure: 'decisions' | 'killed' | 'lost' | 'repeated' | 'double' | 'histories' | 'refused',
): number {
  return rounds.reduce((total, round) => total + round[figure], 0)
}
