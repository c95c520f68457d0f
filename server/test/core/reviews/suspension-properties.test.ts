/** The suspension rule, for any evidence and thresholds. docs/interface/limits.md, "Suspension". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Evidence, harm, judge, type Thresholds, type Window } from '../../../src/core/reviews/suspension.ts'
import { gatherWindows, type Observation } from '../../model/evidence-windows.ts'
import { makeEvidence, makeWindow } from '../../rig/evidence.ts'
import { NOW } from '../../rig/records.ts'
import { defaultThresholds } from '../../rig/thresholds.ts'

const DAY = 86_400_000

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
        const { verdict } = judge({ ...makeEvidence({ warnedAt: NOW - DAY }), ...gathered }, defaultThresholds)
        expect(['fine', 'observe', 'review']).toContain(verdict)
      },
    ),
    { numRuns: 500 },
  )
})
