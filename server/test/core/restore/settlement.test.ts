/** What a new history of PostgreSQL and lost lines of the journal lead to. */
import { expect, test } from 'vitest'
import { type Found, planSettlement } from '../../../src/core/restore/settlement.ts'

const NOW = 10_000_000
const MINUTE = 60_000

const FINISHED = { history: 'before', finished: true }

/** A restore without a journal. */
const plan = (found: Partial<Found>) =>
  planSettlement({
    current: 'now',
    newest: FINISHED,
    hasLost: false,
    journalled: false,
    lastActiveAt: NOW - 10 * MINUTE,
    now: NOW,
    ...found,
  })

test('a history that is recorded needs nothing, whether its restore is finished or not', () => {
  for (const finished of [true, false]) expect(plan({ newest: { history: 'now', finished } })).toBeNull()
})

test('the first history of a database is recorded as finished', () => {
  const record = { lostSince: null, finished: true }
  expect(plan({ newest: null, lastActiveAt: null })).toEqual({ record, closes: false })
  expect(plan({ newest: null, lastActiveAt: null, journalled: true })).toEqual({ record, closes: false })
})

test('after a restore, everything since the last activity may be lost: codes and sessions are closed', () => {
  const record = { lostSince: NOW - 10 * MINUTE, finished: false }
  expect(plan({})).toEqual({ record, closes: true })
  expect(plan({ hasLost: true, journalled: true })).toEqual({ record, closes: true })
})

test('without any activity, the lost time begins now', () => {
  for (const now of [NOW, 0]) {
    expect(plan({ lastActiveAt: null, now })).toEqual({ record: { lostSince: now, finished: false }, closes: true })
  }
})

test('a journal that misses nothing finishes a new history at once', () => {
  const record = { lostSince: NOW - 10 * MINUTE, finished: true }
  expect(plan({ journalled: true })).toEqual({ record, closes: false })
})

test('a new history within a minute of the last activity is a failover: nothing is closed', () => {
  const at = (lastActiveAt: number, found: Partial<Found> = {}) => plan({ lastActiveAt, ...found })
  expect(at(NOW - MINUTE + 1)).toEqual({ record: { lostSince: NOW - MINUTE + 1, finished: false }, closes: false })
  expect(at(NOW - MINUTE)?.closes).toBe(true)
  expect(at(NOW - 1, { hasLost: true, journalled: true })?.closes).toBe(true)
})

test('lost lines without a new history are a restore as well', () => {
  const newest = { history: 'now', finished: true }
  const record = { lostSince: NOW - 10 * MINUTE, finished: false }
  expect(plan({ newest, hasLost: true, journalled: true })).toEqual({ record, closes: true })
  expect(plan({ newest: null, hasLost: true, journalled: true })).toEqual({ record, closes: true })
})

test('lost lines of another machine are added to the restore that is not finished', () => {
  const unfinished = { history: 'now', finished: false }
  expect(plan({ newest: unfinished, hasLost: true, journalled: true })).toEqual({ record: null, closes: false })
  const older = { history: 'before', finished: false }
  expect(plan({ newest: older, hasLost: true, journalled: true })?.record).not.toBeNull()
})
