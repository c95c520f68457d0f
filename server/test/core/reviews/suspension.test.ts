/** The suspension rule: when an owner is warned, when a review is opened, when an application is suspended. docs/interface/limits.md, "Suspension". */
import { describe, expect, it } from 'vitest'
import {
  type Evidence,
  figuresOf,
  harm,
  judge,
  toleratedAccounts,
  type Window,
  warningState,
  windowsInARow,
} from '../../../src/core/reviews/suspension.ts'
import { MANY, makeEvidence, makeWindow, NOBODY } from '../../rig/evidence.ts'
import { NOW } from '../../rig/records.ts'
import { defaultThresholds } from '../../rig/thresholds.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const WARNED = NOW - DAY

const verdictOf = (given: Partial<Evidence>, thresholds = defaultThresholds) =>
  judge(makeEvidence(given), thresholds).verdict
const calm = makeWindow()
const bad = makeWindow(MANY)

describe('an owner is warned', () => {
  it('by one window that is beyond every threshold', () => {
    for (const windows of [
      [bad, calm, calm],
      [calm, calm, bad],
      [bad, bad, bad],
    ])
      expect(verdictOf({ windows })).toBe('warn')
  })

  it.each([
    ['one account too few', { ...MANY, ignoringAccounts: 24 }],
    ['too small a share', { ...MANY, grantedAccounts: 601 }],
    ['one network too few', { ...MANY, ignoringNetworks: 9 }],
  ])('not by a window with %s', (_, counts) => {
    expect(verdictOf({ windows: [calm, calm, makeWindow(counts)] })).toBe('observe')
  })

  it('by a window that just reaches every threshold', () => {
    const least = makeWindow({ grantedAccounts: 500, ignoringAccounts: 25, ignoringNetworks: 10 })
    expect(verdictOf({ windows: [calm, calm, least] })).toBe('warn')
  })

  it('for one reason only if established accounts are enough: those of any age may be too small a share', () => {
    const diluted = makeWindow(MANY, { anyAccount: { ...MANY, grantedAccounts: 10_000 } })
    expect(judge(makeEvidence({ windows: [calm, calm, diluted] }), defaultThresholds)).toEqual({
      verdict: 'warn',
      reasons: ['one_window'],
    })
  })

  it('not by a window in which the service was overloaded', () => {
    const overloaded = makeWindow(MANY, { overloaded: true })
    expect(
      judge(makeEvidence({ windows: [overloaded, overloaded, overloaded], warnedAt: WARNED }), defaultThresholds),
    ).toEqual({ verdict: 'observe', reasons: ['some_accounts', 'overloaded'] })
  })

  it('not without early polls', () => {
    expect(judge(makeEvidence(), defaultThresholds)).toEqual({ verdict: 'fine', reasons: [] })
  })
})

describe('an application is suspended', () => {
  it('if every window exceeds the thresholds, a day after its owner was warned', () => {
    const windows = [bad, bad, bad]
    expect(verdictOf({ windows, warnedAt: WARNED })).toBe('suspend')
    expect(judge(makeEvidence({ windows, warnedAt: WARNED + 1 }), defaultThresholds)).toEqual({
      verdict: 'warn',
      reasons: ['every_window', 'not_warned_long_enough'],
    })
  })

  it('not for two windows of three, and not for earlier windows', () => {
    for (const windows of [
      [bad, bad, calm],
      [calm, bad, bad],
      [bad, bad, bad, calm],
      [bad, bad],
    ])
      expect(verdictOf({ windows, warnedAt: WARNED })).toBe('warn')
  })

  it('RL-07: not when one of the windows was overloaded', () => {
    const windows = [bad, { ...bad, overloaded: true }, bad]
    expect(verdictOf({ windows, warnedAt: WARNED })).toBe('warn')
  })

  it('not after a warning without consequence for a week', () => {
    const windows = [bad, bad, bad]
    expect(verdictOf({ windows, warnedAt: NOW - 8 * DAY + 1 })).toBe('suspend')
    expect(verdictOf({ windows, warnedAt: NOW - 8 * DAY })).toBe('warn')
    expect(warningState({ warnedAt: NOW - 8 * DAY, now: NOW }, defaultThresholds)).toBe('over')
    expect(warningState({ warnedAt: NOW - 8 * DAY + 1, now: NOW }, defaultThresholds)).toBe('effective')
    expect(warningState({ warnedAt: NOW - DAY, now: NOW }, defaultThresholds)).toBe('effective')
    expect(warningState({ warnedAt: NOW - DAY + 1, now: NOW }, defaultThresholds)).toBe('given')
  })

  it.each([0, 2 * DAY, NOW])('not without a warning, whatever the time: %i', (now) => {
    expect(warningState({ warnedAt: null, now }, defaultThresholds)).toBe('over')
    expect(verdictOf({ windows: [bad, bad, bad], warnedAt: null, now })).toBe('warn')
  })
})

describe('the number of accounts that may ignore slow_down', () => {
  const suspends = (ignoringAccounts: number, grantedAccounts: number) => {
    const window = makeWindow({ grantedAccounts, ignoringAccounts, ignoringNetworks: 10_000 })
    return verdictOf({ windows: [window, window, window], warnedAt: WARNED }) === 'suspend'
  }

  it.each([
    [0, 24],
    [500, 24],
    [501, 25],
    [1_000, 49],
    [10_000, 499],
  ])(
    'of %i accounts that granted in a window is %i: with one more, and any number of networks, it is suspended',
    (granted, tolerated) => {
      expect(toleratedAccounts(defaultThresholds, granted)).toBe(tolerated)
      expect([suspends(tolerated, granted), suspends(tolerated + 1, granted)]).toEqual([false, true])
    },
  )
})

describe('a review is opened, and nothing happens to the application', () => {
  const young = makeWindow(NOBODY, { anyAccount: MANY })

  it('RL-03: when accounts of any age would exceed the thresholds', () => {
    expect(judge(makeEvidence({ windows: [young, young, young], warnedAt: WARNED }), defaultThresholds)).toEqual({
      verdict: 'review',
      reasons: ['any_account'],
    })
  })

  it('when they would in one of the windows', () => {
    for (const windows of [
      [young, calm, calm],
      [calm, calm, young],
    ])
      expect(judge(makeEvidence({ windows }), defaultThresholds)).toEqual({
        verdict: 'review',
        reasons: ['any_account'],
      })
  })

  it('not when the service was overloaded in that window', () => {
    const windows = [calm, { ...young, overloaded: true }, calm]
    expect(judge(makeEvidence({ windows }), defaultThresholds)).toEqual({
      verdict: 'observe',
      reasons: ['some_accounts', 'overloaded'],
    })
  })

  it('when users of three accounts report it', () => {
    expect(verdictOf({ reports: 2 })).toBe('observe')
    expect(judge(makeEvidence({ reports: 3 }), defaultThresholds)).toEqual({ verdict: 'review', reasons: ['reports'] })
  })

  it('also for reports when its owner is warned', () => {
    expect(judge(makeEvidence({ windows: [bad, calm, calm], reports: 5 }), defaultThresholds)).toEqual({
      verdict: 'warn',
      reasons: ['one_window', 'reports'],
    })
  })
})

describe('an application is observed', () => {
  const few = { grantedAccounts: 100, ignoringAccounts: 1, ignoringNetworks: 1 }

  it('when a single account of any age ignored slow_down in one of the windows', () => {
    for (const windows of [
      [makeWindow(few), calm, calm],
      [calm, calm, makeWindow(NOBODY, { anyAccount: few })],
    ])
      expect(judge(makeEvidence({ windows }), defaultThresholds)).toEqual({
        verdict: 'observe',
        reasons: ['some_accounts'],
      })
  })

  it('when one account reports it', () => {
    expect(judge(makeEvidence({ reports: 1 }), defaultThresholds)).toEqual({ verdict: 'observe', reasons: [] })
  })

  it('not for overload alone', () => {
    const windows = [calm, makeWindow(NOBODY, { overloaded: true }), calm]
    expect(judge(makeEvidence({ windows }), defaultThresholds)).toEqual({ verdict: 'fine', reasons: ['overloaded'] })
  })
})

describe('the order of the queue', () => {
  const size = 200
  const granted = { requested: size, entered: size, granted: size }

  it('puts a phishing application before a broken firmware of the same size, however fast that polls', () => {
    const firmware = makeEvidence({ touched: size, factor: 1_000, funnel: granted })
    const phisher = makeEvidence({ reports: 3, funnel: { requested: 5_000, entered: size, granted: 20 } })
    expect(harm(phisher)).toBeGreaterThan(harm(firmware))
  })

  it('puts those with more affected accounts first, then those that poll faster', () => {
    const of = (touched: number, factor: number) => harm(makeEvidence({ touched, factor, funnel: granted }))
    expect(of(60, 2)).toBeGreaterThan(of(50, 2))
    expect(of(50, 3)).toBeGreaterThan(of(50, 2))
  })

  it.each<[string, Partial<Evidence>, number]>([
    ['affected accounts, each as often as it polls too fast', { touched: 10, factor: 3 }, 20],
    ['no more than ten times each', { touched: 10, factor: 11.5 }, 100],
    ['nothing for polls at the allowed rate', { touched: 10, factor: 1 }, 0],
    ['nothing for polls that are slower', { touched: 10, factor: 0.25 }, 0],
    ['nothing for a rate that is not known', { touched: 10, factor: null }, 0],
    ['each user who did not grant', { funnel: { requested: 90, entered: 50, granted: 20 } }, 30],
    [
      'nothing for users who granted without entering a code',
      { funnel: { requested: 90, entered: 20, granted: 50 } },
      0,
    ],
    ['all who entered, if someone reports', { reports: 1, funnel: { requested: 90, entered: 30, granted: 30 } }, 600],
    ['a hundred users per report', { reports: 2, funnel: { requested: 900, entered: 900, granted: 900 } }, 4_000],
    ['at least those who report', { reports: 3, funnel: { requested: 1, entered: 1, granted: 1 } }, 60],
  ])('counts %s', (_, given, expected) => {
    expect(harm(makeEvidence(given))).toBe(expected)
  })

  it('does not put a popular application first because of three reports', () => {
    const popular = { requested: 1_000_000, entered: 900_000, granted: 900_000 }
    const phisher = makeEvidence({ reports: 30, funnel: { requested: 9_000, entered: 3_000, granted: 100 } })
    expect(harm(makeEvidence({ reports: 3, funnel: popular }))).toBeLessThan(harm(phisher))
  })
})

describe('the figures', () => {
  it('are those of the worst counted window, with the thresholds', () => {
    const windows = [makeWindow({ ...MANY, ignoringAccounts: 90 }, { overloaded: true }), bad, calm]
    expect(figuresOf(makeEvidence({ windows, factor: 1.8, reports: 2 }), defaultThresholds)).toEqual({
      ...MANY,
      factor: 1.8,
      reports: 2,
      thresholds: { windowMinutes: 10, windows: 3, accounts: 25, share: 0.05, networks: 10, earlyPolls: 20 },
    })
  })

  it('are those of the first of several equally bad windows', () => {
    const earlier = makeWindow({ ...MANY, grantedAccounts: 200 })
    const figures = figuresOf(makeEvidence({ windows: [calm, earlier, bad] }), defaultThresholds)
    expect(figures).toMatchObject({ ...MANY, grantedAccounts: 200 })
  })

  it('count the windows in a row up to the last one', () => {
    const inARow = (...windows: Window[]) => windowsInARow({ windows }, defaultThresholds)
    expect([inARow(bad, calm, bad), inARow(calm, bad, bad), inARow(bad, bad, calm), inARow(bad, bad, bad)]).toEqual([
      1, 2, 0, 3,
    ])
    expect(inARow(bad, { ...bad, overloaded: true }, bad)).toBe(1)
    expect(inARow()).toBe(0)
  })
})
