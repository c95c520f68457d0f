/** Codes that seem to be requested without a user. */
import { expect, test } from 'vitest'
import { seemsToRegenerate } from '../../../src/core/applications/activity.ts'

test.each([
  ['nothing', 0, 0, false],
  ['one code less than a device shows in eight hours', 47, 0, false],
  ['as many codes as a device shows in eight hours, none entered', 48, 0, true],
  ['so many codes, a few of them entered', 48, 2, true],
  ['so many codes, more than one of twenty entered', 48, 3, false],
  ['many codes, just under one of twenty entered', 100, 4, true],
  ['many codes, one of twenty entered', 100, 5, false],
  ['many codes, all of them entered', 100, 100, false],
])('%s (%i requested, %i entered): %s', (_what, requested, entered, expected) => {
  expect(seemsToRegenerate({ requested, entered, granted: entered, rejected: 0 })).toBe(expected)
})
