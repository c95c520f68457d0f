/** The rule of granting, for every combination of facts. docs/interface/device-flow.md, "The user decides". */
import { describe, expect, test } from 'vitest'
import type { Application } from '../../../src/core/applications/application.ts'
import { type Decider, type Granting, type GrantingFacts, mayGrant } from '../../../src/core/grants/granting.ts'
import { CAUSES, type Cause, DECIDERS, ELSEWHERE, ON_PAGE, ORDER, TESTS, type Values } from './granting-causes.ts'

const NOW = 1_000_000_000
const FRESH_MS = 300_000
const secretOf = (text: string) => ({ keyId: 1, digest: Buffer.from(text) })
const testOf = (text: string) => ({ userId: 'usr_1', secret: secretOf(text), endsAt: NOW + 1 })
/** `orders:pay` is required, and dangerous where the facts say so. */
const REQUESTED = ['orders:read', 'orders:write', 'orders:pay']
const HELD = { all: REQUESTED, some: ['orders:read', 'orders:pay'], 'not the required': ['orders:read'], none: [] }
const PUBLISHED = {
  verified: { status: 'verified', name: 'acme.example' },
  unverified: { status: 'unverified', name: null },
} as const
const UNVETTED = {
  no: null,
  counted: { outsideGrants: 100, counted: true },
  'a hundred': { outsideGrants: 100, counted: false },
}
const ENDS = { off: null, on: { ...testOf('now'), endsAt: NOW + 1 }, over: { ...testOf('now'), endsAt: NOW } }

function deciderOf(values: Values): Decider {
  const { by, answer, signedIn, origin, others, holds } = values
  if (by === 'own test') return { kind: 'test', applicationId: 'app_1', test: testOf('now') }
  if (by === 'test of another') return { kind: 'test', applicationId: 'app_2', test: testOf('now') }
  if (by === 'earlier test') return { kind: 'test', applicationId: 'app_1', test: testOf('before') }
  if (by !== 'page') return { kind: by }
  const shown = answer.endsWith('others shown') ? ['orders:write', 'orders:pay'] : HELD[holds]
  return {
    kind: 'page',
    authenticatedAt: signedIn === 'long ago' ? NOW - FRESH_MS - 1 : NOW - FRESH_MS,
    freshMs: FRESH_MS,
    origin,
    crowded: others === 'a crowd',
    takenOver: others === 'a colleague',
    grantedMany: signedIn === 'many grants ago',
    answer: answer === 'none yet' ? null : { shown: shown.toReversed(), retyped: !answer.startsWith('not retyped') },
  }
}

function factsOf(values: Values): GrantingFacts {
  const { flow, parties, policy, publisher, testMode, suspended, unvetted, holds, dangerous, variant } = values
  const application: Partial<Application> = {
    id: 'app_1',
    publisher: PUBLISHED[publisher],
    deleted: parties === 'application deleted',
    suspended: suspended === 'yes',
    testMode: ENDS[testMode],
    allowedScopes: REQUESTED,
    deviceScopes: REQUESTED,
    requiredScopes: ['orders:pay'],
  }
  return {
    flow,
    application: application as Application,
    account: {
      policy: {
        deviceFlow: policy !== 'no codes',
        unverifiedPublishers: policy !== 'verified only',
        onlyApplications: policy === 'others listed' ? ['app_2'] : null,
        secondFactor: 'optional',
      },
    },
    user: { disabled: parties === 'user disabled', heldScopes: HELD[holds] },
    variant,
    requested: REQUESTED,
    scopes: REQUESTED.map((name) => ({ name, dangerous: name === 'orders:pay' && dangerous === 'yes' })),
    unvetted: UNVETTED[unvetted],
    by: deciderOf(values),
    now: NOW,
  }
}

const nameOf = (granting: Granting) => (granting.outcome === 'prevented' ? granting.by : granting.outcome)

/** Calls `check` with every combination, and with the earliest outcome among the causes that it contains. */
function combine(facts: Record<string, readonly string[]>, check: (values: Values, expected: string) => void): number {
  const names = Object.keys(facts)
  const ranked = CAUSES.toSorted(([, a], [, b]) => ORDER.indexOf(a) - ORDER.indexOf(b))
  const values: Record<string, string> = {}
  let combinations = 0
  const choose = (depth: number, causes: readonly Cause[]) => {
    const name = names[depth]
    if (name === undefined) {
      combinations += 1
      return check(values as Values, causes[0]?.[1] ?? 'ok')
    }
    for (const value of facts[name] ?? []) {
      values[name] = value
      const open = causes.filter(([, , needed]) => {
        const allowed: readonly string[] | undefined = needed[name as keyof Values]
        return allowed === undefined || allowed.includes(value)
      })
      choose(depth + 1, open)
    }
  }
  choose(0, ranked)
  return combinations
}

/** Fine in every respect but these. */
function except(given: { [Fact in keyof Values]?: readonly Values[Fact][] }): Values {
  const first = Object.entries({ ...ON_PAGE, ...given }).map(([fact, [value]]) => [fact, value])
  const values: Values = Object.fromEntries(first)
  return given.testMode || !(TESTS as readonly string[]).includes(values.by) ? values : { ...values, testMode: 'on' }
}

describe('a grant is possible', () => {
  test.each(['page', ...DECIDERS.slice(0, 4)] as const)('if nothing prevents it: %s', (by) => {
    const scopes = { granted: REQUESTED, lacking: [], grantable: true }
    expect(mayGrant(factsOf(except({ by: [by] })))).toEqual({ outcome: 'ok', consent: scopes })
  })

  test('of what the user holds; the rest is named', () => {
    const scopes = { granted: ['orders:read', 'orders:pay'], lacking: ['orders:write'], grantable: true }
    expect(mayGrant(factsOf(except({ holds: ['some'] })))).toEqual({ outcome: 'ok', consent: scopes })
  })

  test('by code only of the scopes that the device flow may grant', () => {
    for (const [flow, granted] of [
      ['device', ['orders:pay']],
      ['dialog', REQUESTED],
    ] as const) {
      const facts = factsOf(except({ flow: [flow], answer: ['none yet'] }))
      const application = { ...facts.application, deviceScopes: ['orders:pay'] }
      expect(mayGrant({ ...facts, application })).toMatchObject({ outcome: 'ok', consent: { granted } })
    }
  })

  test('in a test, without the dangerous scopes', () => {
    const facts = factsOf(except({ by: ['own test'], dangerous: ['yes'] }))
    const application = { ...facts.application, requiredScopes: [] }
    const consent = { granted: ['orders:read', 'orders:write'], lacking: ['orders:pay'] }
    expect(mayGrant({ ...facts, application })).toMatchObject({ outcome: 'ok', consent })
  })

  test('to a verified publisher from an unknown place, to one of the hundred, and after test mode', () => {
    const fine = { origin: ['unknown'], answer: ['none yet'], unvetted: ['counted'], testMode: ['over'] } as const
    expect(mayGrant(factsOf(except(fine))).outcome).toBe('ok')
  })
})

test.each(CAUSES)('%s: %s', (_, outcome, given) => {
  expect(nameOf(mayGrant(factsOf(except(given))))).toBe(outcome)
})

describe('the outcome is the first of all causes, and a grant is possible only without any:', () => {
  test.each([
    ['on a page', ON_PAGE, 2_488_320],
    ['elsewhere', ELSEWHERE, 82_944],
  ] as const)('%s', (_, facts, count) => {
    const wrong: unknown[] = []
    const combinations = combine(facts, (values, expected) => {
      const outcome = nameOf(mayGrant(factsOf(values)))
      if (outcome !== expected && wrong.length < 5) wrong.push({ ...values, outcome, expected })
    })
    expect(wrong).toEqual([])
    expect(combinations).toBe(count)
  })
})
