/** How many events a sliding window counts, and how long until there is room again. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slide, sumOf, type WindowCount, waitOf } from '../../src/core/sliding-window.ts'

const WINDOW = 100
const sumAt = (count: WindowCount, now: number) => sumOf(slide(count, now, WINDOW), now, WINDOW)

describe('a count', () => {
  test.each([
    [1_000, 14],
    [1_099, 10],
    [1_100, 10],
    [1_150, 5],
    [1_199, 0],
    [1_200, 0],
  ])('at %d is %d', (now, sum) => {
    expect(sumAt({ startsAt: 1_000, current: 10, previous: 4 }, now)).toBe(sum)
  })

  test('begins when the first event is counted', () => {
    expect(slide(undefined, 1_234, WINDOW)).toEqual({ startsAt: 1_234, current: 0, previous: 0 })
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
