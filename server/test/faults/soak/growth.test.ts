/** The rule of the soak finds a leak that was planted, and nothing where a series only wavers. */
import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../model/suspension-traffic.ts'
import { floorOf, judgeGrowth, type Point, slope } from './growth.ts'

const MINUTES = 10
const ALLOWANCE = { share: 0.1, atLeast: 8 }

/** A point every five seconds. */
function series(valueAt: (seconds: number, random: () => number) => number, minutes = MINUTES): readonly Point[] {
  const random = randomFrom(51)
  return Array.from({ length: minutes * 12 }, (_, at) => ({ seconds: at * 5, value: valueAt(at * 5, random) }))
}

const warmUp = (seconds: number) => 100 * (1 - Math.exp(-seconds / 45))

describe('does not grow', () => {
  test.each<[string, readonly Point[]]>([
    ['what is level', series(() => 100)],
    ['what wavers by a fifth', series((_, random) => 90 + 20 * random())],
    ['what settles after its warm-up', series((seconds, random) => warmUp(seconds) + 10 * random())],
    ['what shrinks', series((seconds) => 200 - seconds / 10)],
    ['what has one high point in ten', series((_, random) => (random() < 0.1 ? 500 : 100))],
    ['what rises and falls', series((seconds) => 100 + 20 * Math.sin(seconds / 20))],
  ])('%s', (_, points) => {
    expect(judgeGrowth(points, ALLOWANCE).grows).toBe(false)
  })
})

describe('grows', () => {
  test.each<[string, readonly Point[]]>([
    ['what leaks 3 % a minute, among noise', series((seconds, random) => 100 + seconds / 20 + 20 * random())],
    ['what leaks below a falling warm-up', series((seconds) => 300 * Math.exp(-seconds / 30) + 100 + seconds / 20)],
    ['what leaks in steps', series((seconds) => 100 + 15 * Math.floor(seconds / 60))],
    ['what leaks one descriptor a minute', series((seconds) => 40 + Math.floor(seconds / 60))],
  ])('%s', (_, points) => {
    expect(judgeGrowth(points, ALLOWANCE).grows).toBe(true)
  })

  test('what leaks slowly, if the run is long enough', () => {
    const leak = (seconds: number) => 100 + seconds / 180
    expect(judgeGrowth(series(leak), ALLOWANCE).grows).toBe(false)
    expect(judgeGrowth(series(leak, 60), ALLOWANCE).grows).toBe(true)
  })
})

test('the growth is the slope over the whole run', () => {
  expect(
    judgeGrowth(
      series((seconds) => 50 + seconds),
      ALLOWANCE,
    ),
  ).toEqual({
    growth: MINUTES * 60 - 5,
    allowed: expect.closeTo(50, -2),
    grows: true,
  })
  expect(slope([{ seconds: 3, value: 7 }])).toBe(0)
  expect(judgeGrowth([], ALLOWANCE).grows).toBe(false)
})

test('of a heap that is collected now and then, the floor counts', () => {
  const sawtooth = (seconds: number) => 100 + (seconds % 30) * 3
  const floor = floorOf(series(sawtooth), 30)
  expect(floor).toHaveLength(20)
  expect(new Set(floor.map(({ value }) => value))).toEqual(new Set([100]))
  expect(
    judgeGrowth(
      floorOf(
        series((seconds) => sawtooth(seconds) + seconds / 15),
        30,
      ),
      ALLOWANCE,
    ).grows,
  ).toBe(true)
})
