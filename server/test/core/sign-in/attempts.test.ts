/** Limits of wrong attempts. docs/interface/device-flow.md, "Guessing". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT_CHECKS,
  ACCOUNT_MISSES,
  APPLICATION_CHECKS,
  type EntryHistory,
  isLastAttempt,
  mayCheckPublisher,
  mayEnterCode as mayEnter,
  maySignIn,
  mustSignInAgain,
  NETWORK_FAILURES,
  NETWORK_MISSES,
  type SignInHistory,
} from '../../../src/core/sign-in/attempts.ts'

const MINUTE = 60_000
const entries = (given: Partial<EntryHistory> = {}): EntryHistory => ({
  userMisses: [],
  accountMisses: 0,
  networkMisses: 0,
  userClaims: [],
  ...given,
})
const CLAIMS = 20
const mayEnterCode = (history: EntryHistory) => mayEnter(history, CLAIMS)
const signIns = (given: Partial<SignInHistory> = {}): SignInHistory => ({
  strangers: [],
  browser: null,
  network: 0,
  ...given,
})

describe('entering codes', () => {
  test('UC-01: the fifth miss in a quarter of an hour is the last', () => {
    expect(mayEnterCode(entries({ userMisses: [1, 2, 3, 4].map((m) => m * MINUTE) }))).toEqual({ allowed: true })
    const locked = mayEnterCode(entries({ userMisses: [1, 2, 3, 4, 5].map((m) => m * MINUTE) }))
    expect(locked).toEqual({ allowed: false, waitMs: 10 * MINUTE })
  })

  test('UC-01: after that time one attempt is allowed, and then one per expired miss', () => {
    const misses = [1, 2, 3, 4, 5].map((m) => m * MINUTE)
    expect(mayEnterCode(entries({ userMisses: misses.map((age) => age + 10 * MINUTE - 1) })).allowed).toBe(false)
    expect(mayEnterCode(entries({ userMisses: misses.map((age) => age + 10 * MINUTE) })).allowed).toBe(true)
  })

  test('the lockout concerns the guessing user, not others of the account or the network', () => {
    const crowded = { accountMisses: ACCOUNT_MISSES.max, networkMisses: NETWORK_MISSES.max }
    expect(mayEnterCode(entries(crowded))).toEqual({ allowed: true })
    expect(mayEnterCode(entries({ ...crowded, userMisses: [MINUTE] }))).toEqual({ allowed: false, waitMs: 14 * MINUTE })
    const nearly = { accountMisses: ACCOUNT_MISSES.max - 1, networkMisses: NETWORK_MISSES.max - 1 }
    expect(mayEnterCode(entries({ ...nearly, userMisses: [MINUTE] }))).toEqual({ allowed: true })
  })

  test.each([
    ['account', 'accountMisses', ACCOUNT_MISSES.max],
    ['network', 'networkMisses', NETWORK_MISSES.max],
  ] as const)('a crowded %s is enough, and it is crowded from exactly its budget on', (_where, misses, max) => {
    const mayTry = (count: number) => mayEnterCode(entries({ [misses]: count, userMisses: [MINUTE] })).allowed
    expect([mayTry(max - 1), mayTry(max)]).toEqual([true, false])
  })

  test('UC-21: a user leaves at most so many existing codes without a grant in ten minutes', () => {
    const claims = Array.from({ length: CLAIMS }, (_, index) => index * 1000)
    expect(mayEnterCode(entries({ userClaims: claims.slice(1) })).allowed).toBe(true)
    expect(mayEnterCode(entries({ userClaims: claims }))).toEqual({ allowed: false, waitMs: 10 * MINUTE - 19_000 })
    expect(mayEnter(entries({ userClaims: claims }), CLAIMS + 1).allowed).toBe(true)
  })

  test('a wait is above zero and at most the window', () => {
    const ages = fc.array(fc.integer({ min: 0, max: 15 * MINUTE - 1 }), { minLength: 5, maxLength: 30 })
    fc.assert(
      fc.property(ages, (misses) => {
        const history = entries({ userMisses: misses.sort((a, b) => a - b) })
        const answer = mayEnterCode(history)
        expect(answer.allowed || (answer.waitMs > 0 && answer.waitMs <= 15 * MINUTE)).toBe(true)
        expect(answer.allowed).toBe(false)
      }),
    )
  })
})

describe('signing in again between many grants', () => {
  const WINDOW = 10 * MINUTE

  test('is asked for after so many grants within ten minutes, all of them since signing in', () => {
    expect(mustSignInAgain([0, 1, 2], WINDOW, 4)).toBe(false)
    expect(mustSignInAgain([0, 1, 2, 3], 4, 4)).toBe(true)
    expect(mustSignInAgain([0, 1, 2, 3], 3, 4), 'one of them was before signing in').toBe(false)
    expect(mustSignInAgain([0, 1, 2, WINDOW - 1], 60 * MINUTE, 4)).toBe(true)
    expect(mustSignInAgain([0, 1, 2, WINDOW], 60 * MINUTE, 4), 'one of them is ten minutes old').toBe(false)
  })

  /** Grants at these distances, and a sign-in before each that the rule asks for. */
  const install = (distances: readonly number[], max: number) => {
    const grants: number[] = []
    const signIns = [0]
    let now = 1
    for (const distance of distances) {
      now += distance
      const ages = grants.toReversed().map((at) => now - at)
      if (mustSignInAgain(ages, now - (signIns.at(-1) ?? 0), max)) {
        signIns.push(now)
        now += 1
      }
      grants.push(now)
    }
    return { grants, signIns }
  }
  const courses = fc.record({
    distances: fc.array(fc.integer({ min: 1, max: 2 * MINUTE }), { maxLength: 120 }),
    max: fc.integer({ min: 1, max: 30 }),
  })

  test('no ten minutes have more than so many grants without one', () => {
    fc.assert(
      fc.property(courses, ({ distances, max }) => {
        const { grants, signIns } = install(distances, max)
        const runs = signIns.map((from, n) => grants.filter((at) => at > from && at < (signIns[n + 1] ?? Infinity)))
        for (const run of runs)
          for (const [n, at] of run.entries()) expect((run[n + max] ?? Infinity) - at).toBeGreaterThanOrEqual(WINDOW)
      }),
    )
  })

  test('is asked for once, and then not before as many grants again', () => {
    fc.assert(
      fc.property(courses, ({ distances, max }) => {
        const { grants, signIns } = install(distances, max)
        for (const [n, from] of signIns.slice(0, -1).entries()) {
          const to = signIns[n + 1] as number
          expect(grants.filter((at) => at > from && at < to && at > to - WINDOW).length).toBeGreaterThanOrEqual(max)
        }
      }),
    )
  })
})

describe('signing in', () => {
  const ten = Array.from({ length: 10 }, (_, index) => index * 1000)

  test('WB-07: the tenth failure with an address is the last for a quarter of an hour', () => {
    expect(maySignIn(signIns({ strangers: ten.slice(1) })).allowed).toBe(true)
    expect(maySignIn(signIns({ strangers: ten }))).toEqual({ allowed: false, waitMs: 15 * MINUTE - 9_000 })
  })

  test('WB-07: a browser that the user signed in with before is not locked out by failures of unknown browsers', () => {
    expect(maySignIn(signIns({ strangers: ten, browser: [] })).allowed).toBe(true)
    expect(maySignIn(signIns({ strangers: [], browser: ten })).allowed).toBe(false)
  })

  test('a network with a hundred failures leaves one failure per address, and does not affect known browsers', () => {
    const network = NETWORK_FAILURES.max
    expect(maySignIn(signIns({ network })).allowed).toBe(true)
    expect(maySignIn(signIns({ network, strangers: [MINUTE] })).allowed).toBe(false)
    expect(maySignIn(signIns({ network, browser: [MINUTE] })).allowed).toBe(true)
  })
})

describe('an attempt to sign in is the last if its failure spends the budget', () => {
  const failures = (count: number) => Array.from({ length: count }, (_, index) => index * 1000)

  test.each([
    ['the ninth with an address is not', { strangers: failures(8) }, false],
    ['the tenth with an address is', { strangers: failures(9) }, true],
    [
      'the ninth in a known browser is not, whatever strangers did',
      { browser: failures(8), strangers: failures(10) },
      false,
    ],
    ['the tenth in a known browser is', { browser: failures(9) }, true],
    ['the first with an address is not', {}, false],
    ['the first with an address is in a crowded network', { network: NETWORK_FAILURES.max }, true],
    ['the first with an address is not in one nearly crowded', { network: NETWORK_FAILURES.max - 1 }, false],
  ])('%s', (_what, history, last) => {
    expect(isLastAttempt(signIns(history))).toBe(last)
  })
})

describe('checks of a publisher', () => {
  const checks = (count: number, age: number) => Array.from({ length: count }, () => age)

  test.each([
    ['none so far', [], [], 0],
    ['one less than an application may have', checks(APPLICATION_CHECKS.max - 1, 0), [], 0],
    ['as many as an application may have', checks(APPLICATION_CHECKS.max, MINUTE), [], 9 * MINUTE],
    ['one less than an account may have', [], checks(ACCOUNT_CHECKS.max - 1, 0), 0],
    ['as many as an account may have', [], checks(ACCOUNT_CHECKS.max, 2 * MINUTE), 8 * MINUTE],
    [
      'as many as both may have: that of the application is told',
      checks(APPLICATION_CHECKS.max, MINUTE),
      checks(ACCOUNT_CHECKS.max, 2 * MINUTE),
      9 * MINUTE,
    ],
    [
      'many, all of them ten minutes ago',
      checks(APPLICATION_CHECKS.max, 10 * MINUTE),
      checks(ACCOUNT_CHECKS.max, 10 * MINUTE),
      0,
    ],
  ])('%s', (_what, application, account, waitMs) => {
    const answer = waitMs === 0 ? { allowed: true } : { allowed: false, waitMs }
    expect(mayCheckPublisher({ application, account })).toEqual(answer)
  })
})
