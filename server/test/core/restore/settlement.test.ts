/** What a new history of PostgreSQL and lost lines of the journal lead to. */
import { expect, test } from 'vitest'
import { type Found, type Processes, planSettlement } from '../../../src/core/restore/settlement.ts'

const NOW = 10_000_000
const MINUTE = 60_000

const FINISHED = { history: 'before', finished: true, closed: false }

/** All were stopped, or ended without a trace. */
const NOBODY: Processes = { lost: false, attested: 0, silent: 0, askable: true, waitedMs: 0 }

/** A restore without a journal. */
const plan = (found: Partial<Found>) => {
  const settlement = settle(found)
  if (settlement === 'wait') throw new Error('it waits')
  return settlement
}

const settle = (found: Partial<Found>) =>
  planSettlement({
    current: 'now',
    newest: FINISHED,
    hasLost: false,
    hasOpen: false,
    journalled: false,
    processes: NOBODY,
    lastActiveAt: NOW - 10 * MINUTE,
    now: NOW,
    ...found,
  })

test('a history that is recorded needs nothing, whether its restore is finished or not', () => {
  for (const finished of [true, false]) expect(plan({ newest: { history: 'now', finished, closed: true } })).toBeNull()
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
  const newest = { history: 'now', finished: true, closed: false }
  const record = { lostSince: NOW - 10 * MINUTE, finished: false }
  expect(plan({ newest, hasLost: true, journalled: true })).toEqual({ record, closes: true })
  expect(plan({ newest: null, hasLost: true, journalled: true })).toEqual({ record, closes: true })
})

test('lost lines of another machine are added to the restore that is not finished, and close what is still open', () => {
  for (const closed of [true, false]) {
    const unfinished = { history: 'now', finished: false, closed }
    expect(plan({ newest: unfinished, hasLost: true, journalled: true })).toEqual({ record: null, closes: !closed })
    const older = { history: 'before', finished: false, closed }
    expect(plan({ newest: older, hasLost: true, journalled: true })?.record).not.toBeNull()
  }
})

const asked = (processes: Partial<Processes>, found: Partial<Found> = {}) =>
  settle({ processes: { ...NOBODY, ...processes }, ...found })

test('if every process of before found all that it saw confirmed, nothing was lost, however long ago that was', () => {
  const nothing = { record: { lostSince: null, finished: true }, closes: false }
  for (const askable of [true, false]) expect(asked({ attested: 3, askable })).toEqual(nothing)
  expect(asked({ attested: 3, lost: true })).toMatchObject({ record: { finished: false }, closes: true })
})

test('the processes of before have half a minute to say so, and five seconds until the first does', () => {
  expect([asked({ silent: 1, waitedMs: 4_999 }), asked({ silent: 1, waitedMs: 5_000 })]).toEqual(['wait', plan({})])
  const others = { attested: 1, silent: 1 }
  expect([asked({ ...others, waitedMs: 29_999 }), asked({ ...others, waitedMs: 30_000 })]).toEqual(['wait', plan({})])
})

test('a process that said nothing leaves the rule of time: a failover within a minute, a restore after it', () => {
  const late = { attested: 1, silent: 1, waitedMs: 60_000 }
  expect(asked(late)).toMatchObject({ record: { finished: false }, closes: true })
  expect(asked(late, { lastActiveAt: NOW - 1 })).toMatchObject({ record: { finished: false }, closes: false })
})

test('a process that comes later and misses a commit closes what is still open, once', () => {
  const late = { lost: true, attested: 1 }
  const newest = { history: 'now', finished: true, closed: false }
  expect(asked(late, { newest })).toMatchObject({ record: { finished: false }, closes: true })
  expect(asked(late, { newest: { ...newest, finished: false } })).toEqual({ record: null, closes: true })
  expect(asked(late, { newest: { ...newest, finished: false, closed: true } })).toBeNull()
  expect(asked(late, { newest, journalled: true }), 'a journal knows better').toBeNull()
})

test('nobody is waited for who cannot find out, after a loss that is certain, or with a journal', () => {
  expect(asked({ silent: 1, askable: false })).toEqual(plan({}))
  expect(asked({ silent: 1, lost: true })).toMatchObject({ closes: true })
  expect(asked({ silent: 1 }, { journalled: true })).toMatchObject({ record: { finished: true }, closes: false })
})

test('what has to be accepted keeps a restore unfinished, and begins or closes none', () => {
  const known = { history: 'now', finished: true, closed: true }
  expect(plan({ newest: known, hasOpen: true, journalled: true })).toBeNull()
  const record = { lostSince: NOW - 10 * MINUTE, finished: false }
  expect(plan({ hasOpen: true, journalled: true })).toEqual({ record, closes: true })
  for (const closed of [true, false]) {
    const unfinished = { history: 'now', finished: false, closed }
    expect(plan({ newest: unfinished, hasOpen: true, journalled: true })).toEqual({ record: null, closes: false })
  }
})
