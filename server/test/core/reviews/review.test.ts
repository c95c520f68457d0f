import { isDeepStrictEqual } from 'node:util'
/**
 * What an operator may decide, and when a second one is needed.
 * docs/operations/operator-console.md, "When an application polls too fast".
 */
import { describe, expect, it, test } from 'vitest'
import {
  type DecisionLine,
  isSuspensionReason,
  isValidInterval,
  isValidText,
  needsSecondOperator,
  reasons,
  suspensionReasons,
  waitsForSecond,
} from '../../../src/core/reviews/review.ts'
import { NOW } from '../../rig/records.ts'

describe('a reason', () => {
  it.each([...reasons, 'polls_too_fast', 'not_decided_in_time', 'by_operator'])(
    'of operators, of the service and of the command line is known: %s',
    (reason) => {
      expect(isSuspensionReason(reason)).toBe(true)
      expect(suspensionReasons).toContain(reason)
    },
  )

  it.each(['', 'comet', 'Fixed', 'fixed ', null, undefined, 0, ['fixed']])(
    'of a newer version, or what is none, is not: %j',
    (value) => {
      expect(isSuspensionReason(value)).toBe(false)
    },
  )
})

test.each([
  ['a single character', 'x', true],
  ['several lines', 'one\ntwo\tthree', true],
  ['2,000 characters', 'x'.repeat(2_000), true],
  ['2,001 characters', 'x'.repeat(2_001), false],
  ['nothing', '', false],
  ['a null character, which PostgreSQL cannot store', 'one\0two', false],
  ['the digit zero', '0', true],
])('a message of %s can be sent: %s', (_, words, valid) => {
  expect(isValidText(words)).toBe(valid)
})

test.each([
  [6, 5, true],
  [300, 5, true],
  [5, 5, false],
  [4, 5, false],
  [301, 5, false],
  [6.5, 5, false],
  [Number.NaN, 5, false],
  [Number.POSITIVE_INFINITY, 5, false],
  [null, 5, false],
])('an interval of %j seconds may be set where %i are configured: %s', (seconds, configured, valid) => {
  expect(isValidInterval(seconds, configured)).toBe(valid)
})

describe('a decision waits for a second operator', () => {
  const decision: DecisionLine = {
    ...{ id: 'dec_1', at: NOW, by: 'ann@example.com', decision: 'reinstate', reason: 'fixed', words: 'Fixed.' },
    ...{ intervalSeconds: null, needsSecond: true, confirmedBy: null, confirmedAt: null },
    ...{ withdrawnBy: null, withdrawnAt: null, grants: 0 },
  }

  it('until one confirms it or it is withdrawn', () => {
    expect(waitsForSecond(decision)).toBe(true)
    expect(waitsForSecond({ ...decision, confirmedAt: NOW })).toBe(false)
    expect(waitsForSecond({ ...decision, withdrawnAt: NOW })).toBe(false)
  })

  it('only if it needs one', () => {
    expect(waitsForSecond({ ...decision, needsSecond: false })).toBe(false)
  })
})

describe('a second operator is needed', () => {
  const choices = [false, true]
  const facts = choices.flatMap((suspended) =>
    choices.flatMap((reported) => choices.map((widelyUsed) => ({ suspended, reported, widelyUsed }))),
  )
  const suspendedAndReported = [
    { suspended: true, reported: true, widelyUsed: false },
    { suspended: true, reported: true, widelyUsed: true },
  ]
  const widelyUsed = choices.flatMap((suspended) =>
    choices.map((reported) => ({ suspended, reported, widelyUsed: true })),
  )

  it.each([
    ['to reinstate a suspended application that users reported', 'reinstate', suspendedAndReported],
    ['to reinstate it with a longer interval', 'reinstate_slower', suspendedAndReported],
    ['to reinstate it and restore its connections', 'reinstate_and_restore', suspendedAndReported],
    ['never to leave things as they are', 'keep', []],
    ['to revoke the grants of very many users', 'keep_and_revoke', widelyUsed],
  ] as const)('%s', (_, decision, needed) => {
    const areNeeded = facts.map((each) => needsSecondOperator({ decision, ...each }))
    expect(areNeeded).toEqual(facts.map((each) => needed.some((one) => isDeepStrictEqual(one, each))))
  })
})
