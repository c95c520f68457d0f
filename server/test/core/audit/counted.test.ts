/** Which refusals are recorded when the hour is over, with a count. */
import { expect, test } from 'vitest'
import { isSummedUp } from '../../../src/core/audit/counted.ts'

test.each([
  ['session.refused', true],
  ['page.refused', true],
  ['session.locked', false],
  ['session.slowed', false],
] as const)('%s is summed up: %s', (kind, expected) => {
  expect(isSummedUp(kind)).toBe(expected)
})
