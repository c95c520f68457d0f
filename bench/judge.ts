/**
 * Judges a benchmark: its ratios are compared with those in baseline.json, and it fails when both are more than a tenth
 * worse twice in a row. Rates differ from machine to machine; ratios within one run mostly do not.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestDatabase } from '../server/test/rig/engines/database.ts'
import { describeMachine, type Machine } from './machine.ts'

const FILE = join(import.meta.dirname, 'baseline.json')

/** Allowed deviation of a ratio from the baseline. */
const ALLOWED_LOSS = 0.1
/** The median of fewer rounds is not reliable. */
const MIN_ROUNDS = 15

export type Ratios = {
  /** Answers per second, ours against the reference's; more is better. */
  readonly ratio: number
  /** Processor time per answer, the reference's against ours; more is better. */
  readonly ratio_by_cpu: number
}

/** Figures that depend on the machine: answers per second, and microseconds of processor time per answer. */
export type Rates = {
  readonly ours_per_second: number
  readonly reference_per_second: number
  readonly ours_cpu_us: number
  readonly reference_cpu_us: number
}

export type Measured = Ratios &
  Rates & {
    /** Alternating rounds that the ratios are the medians of. */
    readonly rounds: number
    /** Missed goals beside the ratios, each as a sentence. */
    readonly missed: readonly string[]
    /** Other counts; printed, not judged. */
    readonly [figure: string]: unknown
  }

export const BENCHES = [
  'poll',
  'poll-in-process',
  'held-poll',
  'waiting-device',
  'verify',
  'issue',
  'code',
  'pages',
] as const
export type Bench = (typeof BENCHES)[number]

/** Rates are absent until the next `--write-baseline`. */
export type Figures = Ratios & Partial<Rates> & { readonly machine: Machine }
export type Baselines = Partial<Record<string, Figures>>

/** Opens what a benchmark needs, has it measured, once or twice, and closes everything. */
export type Benchmark = (run: (subject: Subject) => Promise<void>) => Promise<void>
export type Subject = { measure(): Promise<Measured>; readonly database: TestDatabase }

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

export type Judged = { readonly figures: Measured; readonly verdict: Verdict }

/** Measures and prints, a second time if the first one is bad. Without a baseline it fails. */
export async function judge(bench: Bench, { measure }: Subject): Promise<Judged> {
  const baseline = readBaselines()[bench]
  if (!baseline) {
    const figures = await measureAndPrint(bench, measure)
    console.log(`bench:${bench} failed: no baseline; npm run bench -- ${bench} --write-baseline`)
    return { figures, verdict: 'failed' }
  }
  const least = `${leastOf(baseline.ratio).toFixed(3)} or ${leastOf(baseline.ratio_by_cpu).toFixed(3)} by processor time`
  const measurements: Measured[] = []
  for (;;) {
    const figures = await measureAndPrint(bench, measure)
    measurements.push(figures)
    const verdict = verdictOf(measurements, baseline)
    const found = `ratio ${figures.ratio}, by processor time ${figures.ratio_by_cpu}`
    console.log(`bench:${bench} ${verdict}: ${found}; the least is ${least}`)
    if (verdict !== 'measure again') return { figures, verdict }
  }
}

/** Measures, and writes the figures into baseline.json. A goal that is missed twice is an error. */
export async function renew(bench: Bench, { measure, database }: Subject): Promise<Judged> {
  const first = await measureAndPrint(bench, measure)
  const figures = isGood(first, first) ? first : await measureAndPrint(bench, measure)
  if (!isGood(figures, figures)) throw new Error('a measurement that missed a goal is no baseline')
  writeFigures(bench, figures, await describeMachine(database))
  return { figures, verdict: 'passed' }
}

export async function measureAndPrint(bench: string, measure: () => Promise<Measured>): Promise<Measured> {
  const figures = await measure()
  console.log(JSON.stringify({ bench, ...figures }))
  for (const sentence of figures.missed) console.log(`MISSED: ${sentence}`)
  return figures
}

export function readBaselines(): Baselines {
  return JSON.parse(readFileSync(FILE, 'utf8'))
}

export function writeFigures(bench: string, figures: Ratios & Rates, machine: Machine): void {
  const { ratio, ratio_by_cpu, ours_per_second, reference_per_second, ours_cpu_us, reference_cpu_us } = figures
  const rates = { ours_per_second, reference_per_second, ours_cpu_us, reference_cpu_us }
  const all: Baselines = { ...readBaselines(), [bench]: { ratio, ratio_by_cpu, ...rates, machine } }
  writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`)
}
