/** The suspension rule: when an owner is warned, when a review is opened, when an application is suspended. docs/interface.md, "Suspension". */
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  defaultThresholds,
  type Evidence,
  figuresOf,
  harm,
  judge,
  type Thresholds,
  thresholdLimits,
  thresholdProblem,
  toleratedAccounts,
  type Window,
  warningState,
  windowsInARow,
} from '../../../src/core/reviews/suspension.ts'
import { gatherWindows, type Observation } from '../../model/evidence-windows.ts'
import { MANY, makeEvidence, makeWindow, NOBODY } from '../../rig/evidence.ts'
import { NOW } from '../../rig/records.ts'

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
    expect(warningState({ warnedAt: NOW - DAY + 1, now: NOW }, defaultThresholds)).toBe('given')
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

/** Zero, often enough. */
const some = fc.oneof(fc.constant(0), fc.nat(2_000))
const counts = fc.record({ grantedAccounts: some, ignoringAccounts: some, ignoringNetworks: some })

const anyWindow: fc.Arbitrary<Window> = fc
  .record({ counts, anyAccount: counts, overloaded: fc.boolean() })
  .map(({ counts: own, ...rest }) => ({ startsAt: NOW, ...own, ...rest }))

const anyEvidence: fc.Arbitrary<Evidence> = fc.record({
  windows: fc.array(anyWindow, { maxLength: 14 }),
  touched: fc.nat(2_000),
  factor: fc.option(fc.double({ min: 0, max: 1_000, noNaN: true })),
  reports: fc.nat(50),
  funnel: fc.record({ requested: fc.nat(9_999), entered: fc.nat(9_999), granted: fc.nat(9_999) }),
  warnedAt: fc.option(fc.integer({ min: NOW - 30 * DAY, max: NOW })),
  now: fc.constant(NOW),
})

/** Also values that cannot be configured, such as zero. */
const anyThresholds: fc.Arbitrary<Thresholds> = fc.record({
  windowMinutes: fc.integer({ min: 1, max: 60 }),
  windows: fc.nat(12),
  accounts: fc.nat(50),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  networks: fc.nat(50),
  earlyPolls: fc.nat(50),
  accountAgeDays: fc.nat(60),
  warningHours: fc.nat(48),
  reinstateAfterHours: fc.nat(48),
  reports: fc.nat(10),
  secondOperatorGrants: fc.nat(1_000),
})

describe('for any evidence and thresholds', () => {
  test('nothing is suspended without established accounts in each of the last windows, or without a warning', () => {
    fc.assert(
      fc.property(anyEvidence, anyThresholds, (evidence, thresholds) => {
        if (judge(evidence, thresholds).verdict !== 'suspend') return
        const last = evidence.windows.slice(-Math.max(1, thresholds.windows))
        expect(last.length).toBeGreaterThanOrEqual(1)
        for (const window of last) {
          expect(window.overloaded).toBe(false)
          expect(window.ignoringAccounts).toBeGreaterThan(0)
        }
        expect(evidence.warnedAt).not.toBeNull()
      }),
      { numRuns: 20_000 },
    )
  })

  test('less evidence never leads to a stricter verdict', () => {
    const ranks = ['fine', 'observe', 'review', 'warn', 'suspend']
    const rankOf = (evidence: Evidence, thresholds: Thresholds) => ranks.indexOf(judge(evidence, thresholds).verdict)
    fc.assert(
      fc.property(anyEvidence, anyThresholds, fc.nat(13), (evidence, thresholds, index) => {
        const without = evidence.windows.map((window, at) => (at === index ? makeWindow() : window))
        const less = { ...evidence, windows: without, reports: 0 }
        expect(rankOf(less, thresholds)).toBeLessThanOrEqual(rankOf(evidence, thresholds))
      }),
      { numRuns: 5_000 },
    )
  })

  test('the harm is a number, and 0 if no account is affected', () => {
    fc.assert(fc.property(anyEvidence, (evidence) => harm(evidence) >= 0 && Number.isFinite(harm(evidence))))
    expect(harm(makeEvidence({ factor: 90 }))).toBe(0)
  })
})

/** What a thief of the secret can produce: codes, polls, addresses, and young accounts. */
const thievesCode: fc.Arbitrary<Observation> = fc
  .record({
    age: fc.nat(45 * 60_000),
    granted: fc.boolean(),
    accountId: fc.nat(400).map((number) => `acc_thief${number}`),
    accountAgeMs: fc.nat(30 * DAY - 1),
    network: fc.option(fc.nat(10_000).map((number) => `10.${number >> 8}.${number & 255}.0/24`)),
    earlyPolls: fc.nat(100_000),
  })
  .map(({ age, granted, accountAgeMs, ...rest }) => {
    const at = NOW - age
    return { ...rest, own: false, grantedAt: granted ? at : null, accountCreatedAt: at - accountAgeMs }
  })

/** Devices of other accounts that poll correctly. */
const honestCode: fc.Arbitrary<Observation> = fc.record({
  grantedAt: fc.integer({ min: NOW - 45 * 60_000, max: NOW }),
  accountId: fc.nat(2_000).map((number) => `acc_${number}`),
  accountCreatedAt: fc.constant(NOW - 900 * DAY),
  own: fc.constant(false),
  network: fc.nat(2_000).map((number) => `172.16.${number}.0/24`),
  earlyPolls: fc.nat(defaultThresholds.earlyPolls - 1),
})

test('RL-02: traffic without grants by established accounts neither suspends nor warns', () => {
  fc.assert(
    fc.property(
      fc.array(thievesCode, { maxLength: 600 }),
      fc.array(honestCode, { maxLength: 200 }),
      (thief, honest) => {
        const options = { now: NOW, since: 0, overloads: [], codeLifetimeMs: 900_000 }
        const gathered = gatherWindows([...thief, ...honest], options, defaultThresholds)
        const { verdict } = judge({ ...makeEvidence({ warnedAt: WARNED }), ...gathered }, defaultThresholds)
        expect(['fine', 'observe', 'review']).toContain(verdict)
      },
    ),
    { numRuns: 500 },
  )
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

  it('count the windows in a row up to the last one', () => {
    const inARow = (...windows: Window[]) => windowsInARow({ windows }, defaultThresholds)
    expect([inARow(bad, calm, bad), inARow(calm, bad, bad), inARow(bad, bad, calm), inARow(bad, bad, bad)]).toEqual([
      1, 2, 0, 3,
    ])
    expect(inARow(bad, { ...bad, overloaded: true }, bad)).toBe(1)
  })
})

describe('thresholds', () => {
  it('have valid defaults', () => {
    expect(thresholdProblem(defaultThresholds)).toBeNull()
  })

  it.each(['reports', 'secondOperatorGrants'] as const)(
    'never need fewer second operators than delivered: %s',
    (name) => {
      expect(thresholdProblem({ ...defaultThresholds, [name]: defaultThresholds[name] + 1 })).toBe(name)
    },
  )

  it.each(Object.keys(thresholdLimits) as (keyof Thresholds)[])('have limits: %s', (name) => {
    const [least, max] = thresholdLimits[name]
    const set = (value: number) => thresholdProblem({ ...defaultThresholds, [name]: value })
    expect([set(least), set(max)]).toEqual([null, null])
    const step = name === 'share' ? 0.001 : 1
    for (const value of [least - step, max + step, Number.NaN, Number.POSITIVE_INFINITY]) expect(set(value)).toBe(name)
    expect(set(least + 0.5)).toBe(name === 'share' ? null : name)
  })
})
