/** When early polls alone show an application to operators. */
import { expect, test } from 'vitest'
import { isFarTooFast, isQuiet } from '../../../src/core/reviews/early-polls.ts'

test.each([
  ['no polls', 0, 0, false],
  ['one device that polls once a second for ten minutes', 600, 480, false],
  ['the same for thirteen minutes', 780, 624, true],
  ['just enough early polls', 501, 500, true],
  ['one too few', 500, 499, false],
  ['five times the allowed rate', 1_250, 1_000, true],
  ['a little less than that', 1_251, 1_000, false],
  ['a device that polls flat out among a thousand in pace', 280_000, 100_000, false],
  ['polls without a single one in pace', 500, 500, true],
])('%s', (_, polls, early, expected) => {
  expect(isFarTooFast({ polls, early })).toBe(expected)
})

const DAY = 24 * 60 * 60_000

test('a decision keeps early polls away for seven days', () => {
  expect(isQuiet(null, DAY)).toBe(false)
  expect(isQuiet(DAY, DAY)).toBe(true)
  expect(isQuiet(DAY, 8 * DAY - 1)).toBe(true)
  expect(isQuiet(DAY, 8 * DAY)).toBe(false)
})
