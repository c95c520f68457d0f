/**
 * Judges a benchmark: its ratios are compared with those in baseline.json, and the program fails when both are
 * more than a tenth worse twice in a row. Rates differ from machine to machine; ratios within one run mostly do not.
 *
 *   npm run bench:poll                          compares
 *   npm run bench:poll -- --write-baseline      measures, and writes the ratios into baseline.json instead
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { TestDatabase } from '../server/test/rig/engines/database.ts'
import { describeMachine, type Machine } from './machine.ts'

const FILE = join(import.meta.dirname, 'baseline.json')

/** Allowed deviation of a ratio from the baseline. */
const ALLOWED_LOSS = 0.1
/** The median of fewer rounds is not reliable. */
const MIN_ROUNDS = 15

export type Ratios = {
  /** Answers per second, ours against the bare server's; more is better. */
  readonly ratio: number
  /** Processor time per answer, the bare server's against ours; more is better. */
  readonly ratio_by_cpu: number
}

export type Measured = Ratios & {
  /** Alternating rounds that the ratios are the medians of. */
  readonly rounds: number
  /** Missed goals beside the ratios, each as a sentence. */
  readonly missed: readonly string[]
  /** Other counts; printed, not judged. */
  readonly [figure: string]: unknown
}

export type Bench = 'poll' | 'verify' | 'pages'
type Baselines = Partial<Record<Bench, Ratios & { readonly machine: Machine }>>
export type Verdict = 'passed' | 'measure again' | 'failed'

/** One bad measurement may be chance; the second decides. */
export function verdictOf(measurements: readonly Measured[], baseline: Ratios): Verdict {
  const last = measurements.at(-1)
  if (last && isGood(last, baseline)) return 'passed'
  return measurements.length < 2 ? 'measure again' : 'failed'
}

/**
 * Other work on the machine lowers our rate more than the bare server's, because our answers also wait for engines, but hardly the
 * processor time per answer. A change that makes answers more expensive lowers both.
 */
function isGood({ ratio, ratio_by_cpu, rounds, missed }: Measured, baseline: Ratios): boolean {
  const holds = ratio >= leastOf(baseline.ratio) || ratio_by_cpu >= leastOf(baseline.ratio_by_cpu)
  return holds && rounds >= MIN_ROUNDS && missed.length === 0
}

const leastOf = (ratio: number) => ratio * (1 - ALLOWED_LOSS)

/** Measures, prints, judges, and sets the exit status. */
export async function judge(bench: Bench, measure: () => Promise<Measured>, database: TestDatabase): Promise<void> {
  const { values } = parseArgs({ options: { 'write-baseline': { type: 'boolean', default: false } } })
  if (values['write-baseline']) return writeBaseline(bench, await printed(bench, measure), database)
  const baseline = readBaselines()[bench]
  if (!baseline) throw new Error(`baseline.json has nothing for ${bench}: npm run bench:${bench} -- --write-baseline`)
  const least = `${leastOf(baseline.ratio).toFixed(3)} or ${leastOf(baseline.ratio_by_cpu).toFixed(3)} by processor time`
  const measurements: Measured[] = []
  let verdict: Verdict = 'measure again'
  while (verdict === 'measure again') {
    const figures = await printed(bench, measure)
    measurements.push(figures)
    verdict = verdictOf(measurements, baseline)
    const found = `ratio ${figures.ratio}, by processor time ${figures.ratio_by_cpu}`
    console.log(`bench:${bench} ${verdict}: ${found}; the least is ${least}`)
  }
  if (verdict === 'failed') process.exitCode = 1
}

async function printed(bench: Bench, measure: () => Promise<Measured>): Promise<Measured> {
  const figures = await measure()
  console.log(JSON.stringify({ bench, ...figures }))
  for (const sentence of figures.missed) console.log(`MISSED: ${sentence}`)
  return figures
}

function readBaselines(): Baselines {
  return JSON.parse(readFileSync(FILE, 'utf8'))
}

async function writeBaseline(bench: Bench, figures: Measured, database: TestDatabase): Promise<void> {
  if (!isGood(figures, figures)) throw new Error('a measurement that missed a goal is no baseline')
  const { ratio, ratio_by_cpu } = figures
  const all: Baselines = {
    ...readBaselines(),
    [bench]: { ratio, ratio_by_cpu, machine: await describeMachine(database) },
  }
  writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`)
  console.log(`bench:${bench}: the baseline is ${ratio} now, ${ratio_by_cpu} by processor time`)
}
