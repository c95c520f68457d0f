/** Metrics of several processes as one: what is added up, and what is not. */
import { expect, test } from 'vitest'
import { writeExposition } from '../../src/telemetry/exposition.ts'
import { createCounter, type Family, gauge } from '../../src/telemetry/family.ts'
import { countedBy, mergeFamilies } from '../../src/telemetry/merge.ts'

const counted = (...values: ('yes' | 'no')[]): Family => {
  const counter = createCounter<'yes' | 'no'>({ name: 'a_total', help: 'How many.' }, ['what'], [['yes']])
  for (const value of values) counter.add(value)
  return counter.family()
}
const timed = (counts: number[], sum: number): Family => ({
  name: 'c',
  help: 'How long.',
  type: 'histogram',
  bounds: [1],
  samples: [{ labels: { route: '/' }, counts, sum }],
})
const samplesOf = (families: readonly Family[]) =>
  writeExposition(families)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

test('counters are added up by label, also those that only one process has', () => {
  const merged = mergeFamilies([[counted('yes', 'yes')], [counted('yes', 'no')], [counted()]])
  expect(samplesOf(merged)).toEqual(['a_total{what="yes"} 3', 'a_total{what="no"} 1'])
})

test('histograms are added up bucket by bucket', () => {
  expect(samplesOf(mergeFamilies([[timed([2, 1], 7)], [timed([1, 0], 0.5)]]))).toEqual([
    'c_bucket{route="/",le="1"} 3',
    'c_bucket{route="/",le="+Inf"} 4',
    'c_sum{route="/"} 7.5',
    'c_count{route="/"} 4',
  ])
})

test.each([
  ['sum', 7],
  ['max', 5],
  ['min', 2],
] as const)('a gauge across processes is their %s', (across, value) => {
  const merged = mergeFamilies([[gauge('b', 'How much.', 5, across)], [gauge('b', 'How much.', 2, across)]])
  expect(samplesOf(merged)).toEqual([`b ${value}`])
})

test('a process that has ended leaves its counters and histograms, and no gauge', () => {
  expect(samplesOf(countedBy([counted('yes'), gauge('b', 'How much.', 5)]))).toEqual(['a_total{what="yes"} 1'])
})
