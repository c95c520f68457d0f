/** Names of applications and their publishers, logos, poll intervals, and scopes excluded from the device flow. */
import { describe, expect, test } from 'vitest'
import {
  deviceFlowPolicy,
  isApplicationName,
  isPublisherName,
  pollIntervalOf,
  shownLogo,
} from '../../../src/core/applications/application.ts'
import { resolveConsent, resolveRequested } from '../../../src/core/grants/scope.ts'
import { hostileNames } from '../../rig/corpora/hostile-names.ts'

describe('the name of an application', () => {
  test('UC-20: there are two hundred hostile ones to try', () => {
    const names = hostileNames.flatMap(([, each]) => each)
    expect(new Set(names).size).toBe(names.length)
    expect(names.length).toBeGreaterThanOrEqual(200)
  })

  test.each(hostileNames)('UC-20: is not %s', (_, names) => {
    expect(names.filter(isApplicationName)).toEqual([])
  })

  test.each([
    'TV',
    '4',
    'Acme Television',
    'C++ Builder',
    'Müller & Söhne, Kasse 4 (Ost)',
    'レジ アプリ',
    'تلفاز أكمي',
    'קופה 7',
    'ऑर्डर दिखाएँ',
    'Đơn hàng',
    '🔒 Acme',
    'A'.repeat(100),
  ])('may be %j', (name) => {
    expect(isApplicationName(name)).toBe(true)
  })
})

describe('the name of a publisher', () => {
  test.each([
    'acme.example',
    'a.b.co',
    'xn--bcher-kva.example',
    '4.acme.example',
    'acme.e2',
    `${'a'.repeat(63)}.example`,
    `a.${'b'.repeat(63)}`,
    `${'a.'.repeat(123)}example`,
  ])('may be %j', (name) => {
    expect(isPublisherName(name)).toBe(true)
  })

  test.each([
    '',
    'acme',
    'Acme.example',
    'acme.example.',
    '.example',
    '-a.example',
    'a_b.example',
    'https://acme.example',
    'acme.example/x',
    'acme.example:80',
    'bücher.example',
    '127.0.0.1',
    'acme.example\n',
    `${'a'.repeat(64)}.example`,
    `a.${'b'.repeat(64)}`,
    'acme.e',
    'acme.example-',
    'acme-.example',
    ' acme.example',
    `${'a.'.repeat(122)}aa.examples`,
    `${'a.'.repeat(126)}example`,
  ])('cannot be %j', (name) => {
    expect(isPublisherName(name)).toBe(false)
  })
})

describe('the logo on pages', () => {
  const application = {
    id: 'app_1',
    logoVersion: 'v2',
    publisher: { status: 'verified', name: 'acme.example' },
  } as const

  test.each(['own', 'verified'] as const)('is shown if the publisher is %s', (status) => {
    expect(shownLogo({ ...application, publisher: { status, name: null } })).toEqual({
      applicationId: 'app_1',
      version: 'v2',
    })
  })

  test('is not shown if the publisher is unverified', () => {
    expect(shownLogo({ ...application, publisher: { status: 'unverified', name: 'acme.example' } })).toBeNull()
  })

  test('is not shown if there is none', () => {
    expect(shownLogo({ ...application, logoVersion: null })).toBeNull()
  })
})

test.each([
  [null, 5],
  [4, 5],
  [5, 5],
  [30, 30],
])('a review that sets a poll interval of %j seconds makes it %i where 5 are configured', (set, seconds) => {
  expect(pollIntervalOf({ pollIntervalSeconds: set }, 5)).toBe(seconds)
})

describe('UC-18: a scope excluded from the device flow', () => {
  const policy = deviceFlowPolicy({
    allowedScopes: ['orders:read', 'account:close'],
    defaultScopes: ['orders:read', 'account:close'],
    requiredScopes: ['account:close'],
    deviceScopes: ['orders:read'],
  })

  test('is refused by name', () => {
    expect(resolveRequested('orders:read,account:close', policy)).toEqual({
      answer: 'not_allowed',
      names: ['account:close'],
    })
  })

  test('is refused in a default set, too: the set is never narrowed', () => {
    expect(resolveRequested(null, policy)).toEqual({ answer: 'not_allowed', names: ['account:close'] })
  })

  test('is neither granted nor shown as lacking, even if a code carries it', () => {
    const held = ['orders:read', 'account:close']
    expect(resolveConsent(held, held, policy)).toEqual({ granted: ['orders:read'], lacking: [], grantable: true })
  })
})
