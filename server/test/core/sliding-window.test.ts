/** How many events a sliding window counts, and how long until there is room again. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slide, sumOf, type WindowCount, waitOf } from '../../src/core/sliding-window.ts'

const WINDOW = 100
const sumAt = (count: WindowCount, now: number) => sumOf(slide(count, now, WINDOW), now, WINDOW)

describe('a count', () => {
  test('counts the window before in proportion to what is left of it, and forgets it after', () => {
    const count = { startsAt: 1_000, current: 10, previous: 4 }
    expect([1_000, 1_050, 1_100, 1_150, 1_199, 1_200].map((now) => sumAt(count, now))).toEqual([14, 12, 10, 5, 0, 0])
  })

  test.each([
    ['stays in its window', 1_099, { startsAt: 1_000, current: 10, previous: 4 }],
    ['becomes the previous one in the next window', 1_100, { startsAt: 1_100, current: 0, previous: 10 }],
    ['still is at the end of that', 1_199, { startsAt: 1_100, current: 0, previous: 10 }],
    ['starts anew after two windows', 1_200, { startsAt: 1_200, current: 0, previous: 0 }],
  ])('%s', (_, now, count) => {
    expect(slide({ startsAt: 1_000, current: 10, previous: 4 }, now, WINDOW)).toEqual(count)
  })

  test('starts when there is none', () => {
    expect(slide(undefined, 1_234, WINDOW)).toEqual({ startsAt: 1_234, current: 0, previous: 0 })
  })

  test('is rounded down', () => {
    expect(sumOf({ startsAt: 1_000, current: 1, previous: 1 }, 1_001, WINDOW)).toBe(1)
  })

  test('of a steady attack does not fall below its rate at any moment', () => {
    let count = slide(undefined, 0, WINDOW)
    for (let now = 0; now < 1_000; now += 1) {
      count = slide(count, now, WINDOW)
      count = { ...count, current: count.current + 1 }
      if (now >= 100) expect(sumOf(count, now, WINDOW)).toBeGreaterThanOrEqual(99)
    }
  })
})

describe('the wait', () => {
  const counts = fc.record({ startsAt: fc.constant(0), current: fc.nat(20), previous: fc.nat(20) })

  test('is over at the first moment at which the sum is below the limit', () => {
    fc.assert(
      fc.property(
        counts,
        fc.integer({ min: 0, max: WINDOW - 1 }),
        fc.integer({ min: 1, max: 20 }),
        (kept, now, limit) => {
          // A limit that is kept is never exceeded within one window.
          const count = { ...kept, current: Math.min(kept.current, limit), previous: Math.min(kept.previous, limit) }
          const waitMs = waitOf(count, limit, now, WINDOW)
          if (waitMs === 0) {
            expect(sumAt(count, now)).toBeLessThan(limit)
            return
          }
          expect(sumAt(count, now + waitMs - 1)).toBeGreaterThanOrEqual(limit)
          expect(sumAt(count, now + waitMs + 1)).toBeLessThan(limit)
        },
      ),
    )
  })
})
