/** What a management key may read and change. */
import { describe, expect, test } from 'vitest'
import {
  allows,
  DEFAULT_LIFETIME_MS,
  DEFAULT_OVERLAP_MS,
  isKeyLabel,
  isManagementScope,
  isWithinReach,
  MAX_LIFETIME_MS,
  MAX_OVERLAP_MS,
  managementScopes,
  mayOperatorGive,
  scopeToGive,
} from '../../../src/core/manage/key.ts'

describe('a management scope', () => {
  test.each(managementScopes)('is %s', (scope) => {
    expect(isManagementScope(scope)).toBe(true)
  })

  test.each(['', 'users', 'users:delete', 'USERS:READ', ' users:read', 'users:readx', 'reviews:write', 'audit:write'])(
    'is not %j',
    (text) => {
      expect(isManagementScope(text)).toBe(false)
    },
  )
})

describe('a key allows', () => {
  test('what its scopes name', () => {
    expect(allows(['roles:read', 'users:read'], 'users:read')).toBe(true)
    expect(allows(['users:write', 'roles:read'], 'users:write')).toBe(true)
  })

  test('to read what it may write', () => {
    expect(allows(['users:write'], 'users:read')).toBe(true)
  })

  test('not to write what it may read', () => {
    expect(allows(['users:read'], 'users:write')).toBe(false)
  })

  test('nothing of another resource', () => {
    expect(allows(['roles:read', 'roles:write'], 'users:read')).toBe(false)
    expect(allows(['roles:read', 'roles:write'], 'users:write')).toBe(false)
  })

  test('nothing without scopes', () => {
    expect(managementScopes.filter((scope) => allows([], scope))).toEqual([])
  })
})

test('a key of the service reaches every scope but SCIM, which names no account', () => {
  expect(managementScopes.filter((scope) => !isWithinReach(scope, null))).toEqual(['scim'])
})

test('a key of an account reaches every scope but writing the catalogue and reading reviews', () => {
  const beyond = managementScopes.filter((scope) => !isWithinReach(scope, 'acme-id'))
  expect(beyond).toEqual(['scopes:write', 'reviews:read'])
})

test('one operator gives a key of the service scopes that read, and none that write', () => {
  const given = managementScopes.filter(mayOperatorGive)
  expect(given.filter((scope) => scope.endsWith(':write'))).toEqual([])
  const others = managementScopes.filter((scope) => scope.endsWith(':write') || scope === 'scim')
  expect([...given, ...others].sort()).toEqual([...managementScopes].sort())
  expect(given).toContain('users:read')
})

describe('what a change gives needs', () => {
  const nothing = { access: false, administrator: false }
  const all = { access: true, administrator: true }

  test('no scope besides that of the request, if it gives nothing', () => {
    expect(scopeToGive(['users:write'], nothing)).toBeNull()
  })

  test.each([
    [['users:write', 'administrators:write'], { ...nothing, access: true }, 'roles:write'],
    [['users:write', 'roles:write'], { ...nothing, administrator: true }, 'administrators:write'],
    [['users:write', 'administrators:write'], all, 'roles:write'],
    [['users:write', 'roles:write'], all, 'administrators:write'],
    [['users:write', 'roles:read'], { ...nothing, access: true }, 'roles:write'],
    [['roles:write', 'administrators:write'], all, null],
    [['roles:write'], { ...nothing, access: true }, null],
    [['administrators:write'], { ...nothing, administrator: true }, null],
  ] as const)('of %j to give %j: %s', (scopes, gives, missing) => {
    expect(scopeToGive(scopes, gives)).toBe(missing)
  })
})

describe('a label', () => {
  test.each(['Payroll', 'a', 'x'.repeat(60)])('can be %j', (text) => {
    expect(isKeyLabel(text)).toBe(true)
  })

  test.each(['', ' ', 'x'.repeat(61), 'Pay\nroll', 'Pay\u202eroll', 'See https://x', 'www.x', 'pay.example'])(
    'cannot be %j',
    (text) => {
      expect(isKeyLabel(text)).toBe(false)
    },
  )
})

test('a key lives for 90 days unless told otherwise, and for a leap year at most', () => {
  const day = 86_400_000
  expect([DEFAULT_LIFETIME_MS / day, MAX_LIFETIME_MS / day]).toEqual([90, 366])
})

test('a replaced secret stays valid for a day unless told otherwise, and for a week at most', () => {
  const hour = 3_600_000
  expect([DEFAULT_OVERLAP_MS / hour, MAX_OVERLAP_MS / hour]).toEqual([24, 168])
})
