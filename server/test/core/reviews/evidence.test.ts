/** Evidence windows: which codes and accounts are counted. */
import { describe, expect, it } from 'vitest'
import { spanOf } from '../../../src/core/reviews/evidence.ts'
import { gatherWindows, type Observation } from '../../model/evidence-windows.ts'
import { makeObservation } from '../../rig/evidence.ts'
import { NOW } from '../../rig/records.ts'
import { defaultThresholds } from '../../rig/thresholds.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

/** Shortly after a window has ended. */
const AT = NOW + 20_000
const LATEST = NOW - 10 * MINUTE

const gather = (codes: readonly Observation[], given: { since?: number; overloads?: readonly number[] } = {}) =>
  gatherWindows(codes, { now: AT, since: 0, overloads: [], codeLifetimeMs: 15 * MINUTE, ...given }, defaultThresholds)
const last = (codes: readonly Observation[]) => gather(codes).windows.at(-1)
const ignoring = (given: Partial<Observation> = {}) => makeObservation({ earlyPolls: 20, ...given })

it('covers the last three complete windows of ten minutes', () => {
  expect(spanOf(AT, defaultThresholds)).toEqual({ from: NOW - 30 * MINUTE, to: NOW, windowMs: 10 * MINUTE })
  const at = (grantedAt: number) => makeObservation({ grantedAt })
  const codes = [at(NOW - 30 * MINUTE - 1), at(NOW - 30 * MINUTE), at(LATEST - 1), at(LATEST), at(NOW - 1), at(NOW)]
  const granted = gather(codes.map((code, index) => ({ ...code, accountId: `acc_${index}` }))).windows
  expect(granted.map(({ startsAt, grantedAccounts }) => [startsAt, grantedAccounts])).toEqual([
    [NOW - 30 * MINUTE, 1],
    [NOW - 20 * MINUTE, 1],
    [LATEST, 2],
  ])
})

it('counts accounts, not codes and not polls', () => {
  const codes = Array.from({ length: 50 }, () => ignoring({ earlyPolls: 9_999 }))
  const one = { grantedAccounts: 1, ignoringAccounts: 1, ignoringNetworks: 1 }
  expect(last(codes)).toEqual({ startsAt: LATEST, overloaded: false, ...one, anyAccount: one })
  expect(gather(codes).touched).toBe(1)
})

it('counts an account as one that ignores slow_down when one of its devices does', () => {
  expect(last([makeObservation(), ignoring(), makeObservation({ accountId: 'acc_2' })])).toMatchObject({
    grantedAccounts: 2,
    ignoringAccounts: 1,
  })
})

it('does not count nineteen early polls', () => {
  expect(last([ignoring({ earlyPolls: 19 })])).toMatchObject({ grantedAccounts: 1, ignoringAccounts: 0 })
})

it('does not count codes that were not granted', () => {
  expect(last([ignoring({ grantedAt: null })])).toMatchObject({
    grantedAccounts: 0,
    anyAccount: { grantedAccounts: 0 },
  })
})

it('does not count an unknown network', () => {
  expect(last([ignoring({ network: null })])).toMatchObject({ ignoringAccounts: 1, ignoringNetworks: 0 })
})

it.each([
  ['is not a month old', { accountCreatedAt: NOW - MINUTE - 30 * DAY + 1 }],
  ['registered the application', { own: true }],
])('counts an account that %s only among those of any age', (_, given) => {
  expect(last([ignoring(given)])).toMatchObject({
    grantedAccounts: 0,
    ignoringAccounts: 0,
    anyAccount: { grantedAccounts: 1, ignoringAccounts: 1, ignoringNetworks: 1 },
  })
  expect(last([ignoring({ accountCreatedAt: NOW - MINUTE - 30 * DAY })])).toMatchObject({ ignoringAccounts: 1 })
})

it('does not count grants before the last decision', () => {
  expect(gather([ignoring()], { since: NOW - MINUTE }).touched).toBe(1)
  expect(gather([ignoring()], { since: NOW - MINUTE + 1 }).touched).toBe(0)
})

describe('RL-07: a minute of overload', () => {
  const overloaded = (minute: number) => gather([], { overloads: [minute] }).windows.map((each) => each.overloaded)

  it('excludes its window, and those in which codes of that minute may be granted', () => {
    expect(overloaded(NOW - 25 * MINUTE)).toEqual([true, true, true])
    expect(overloaded(NOW - 27 * MINUTE)).toEqual([true, true, false])
    expect(overloaded(NOW - MINUTE)).toEqual([false, false, true])
  })

  it('has no effect when all codes of that time have expired', () => {
    expect(overloaded(NOW - 46 * MINUTE)).toEqual([false, false, false])
    expect(overloaded(NOW - 46 * MINUTE + 1)).toEqual([true, false, false])
    expect(overloaded(NOW)).toEqual([false, false, false])
  })
})
