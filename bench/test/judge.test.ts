/** When a benchmark passes, is repeated, and fails. CONTRIBUTING.md, "Benchmarks". */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BENCHES, type Measured, type Verdict, verdictOf } from '../judge.ts'
import { PEERS } from '../peers.ts'

const RATES = { ours_per_second: 6, reference_per_second: 10, ours_cpu_us: 40, reference_cpu_us: 20 }
const measured = (ratio: number, byCpu: number, more: Partial<Measured> = {}): Measured => {
  return { ratio, ratio_by_cpu: byCpu, ...RATES, rounds: 15, missed: [], ...more }
}
const BASELINE = { ratio: 0.6, ratio_by_cpu: 0.5 }

test.each<{ measurements: [ratio: number, byCpu: number][]; verdict: Verdict }>([
  { measurements: [], verdict: 'measure again' },
  { measurements: [[0.6, 0.5]], verdict: 'passed' },
  { measurements: [[0.9, 0.9]], verdict: 'passed' },
  { measurements: [[0.541, 0.451]], verdict: 'passed' },
  // Other load on the machine: the rate fell, the work did not grow.
  { measurements: [[0.3, 0.451]], verdict: 'passed' },
  { measurements: [[0.541, 0.2]], verdict: 'passed' },
  { measurements: [[0.539, 0.449]], verdict: 'measure again' },
  { measurements: [[0.1, 0.1]], verdict: 'measure again' },
  {
    measurements: [
      [0.539, 0.449],
      [0.541, 0.451],
    ],
    verdict: 'passed',
  },
  {
    measurements: [
      [0.539, 0.449],
      [0.539, 0.449],
    ],
    verdict: 'failed',
  },
  {
    measurements: [
      [0.1, 0.1],
      [0.539, 0.449],
    ],
    verdict: 'failed',
  },
  { measurements: [[Number.NaN, Number.NaN]], verdict: 'measure again' },
  {
    measurements: [
      [Number.NaN, Number.NaN],
      [Number.NaN, Number.NaN],
    ],
    verdict: 'failed',
  },
])('against 0.6 and 0.5 by processor time, $measurements is judged: $verdict', ({ measurements, verdict }) => {
  const all = measurements.map(([ratio, byCpu]) => measured(ratio, byCpu))
  expect(verdictOf(all, BASELINE)).toBe(verdict)
})

describe('good ratios do not suffice', () => {
  test.each([
    ['when a goal was missed', { missed: ['twice as many statements as allowed'] }],
    ['when they are the medians of fewer than fifteen rounds', { rounds: 14 }],
  ])('%s', (_, bad) => {
    const [good, not] = [measured(0.6, 0.5), measured(0.6, 0.5, bad)]
    expect(verdictOf([not], BASELINE)).toBe('measure again')
    expect(verdictOf([not, good], BASELINE)).toBe('passed')
    expect(verdictOf([not, not], BASELINE)).toBe('failed')
  })
})

test('every baseline is of a benchmark, or of the same one of another server, and has its machine', () => {
  const baselines = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'baseline.json'), 'utf8'))
  const machine = {
    cores: expect.any(Number),
    processor: expect.any(String),
    memory_gb: expect.any(Number),
    node: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    postgres: expect.stringMatching(/^\d+/),
    redis: expect.stringMatching(/^\d+\.\d+\.\d+$/),
  }
  const peers = PEERS.flatMap((peer) => [`poll of ${peer}`, `verify of ${peer}`])
  expect([...BENCHES, ...peers]).toEqual(expect.arrayContaining(Object.keys(baselines)))
  expect(Object.keys(baselines)).toEqual(expect.arrayContaining(['poll', 'verify', 'pages']))
  for (const { machine: measuredOn, ...figures } of Object.values<Record<string, number>>(baselines)) {
    expect(measuredOn).toEqual(machine)
    expect(['ratio', 'ratio_by_cpu', ...Object.keys(RATES)]).toEqual(expect.arrayContaining(Object.keys(figures)))
    expect(figures).toMatchObject({ ratio: expect.any(Number), ratio_by_cpu: expect.any(Number) })
    expect(Math.min(...Object.values(figures))).toBeGreaterThan(0)
  }
})
