/** Where users come from, and what applies to them. */
import { describe, expect, test } from 'vitest'
import {
  allowedOrigins,
  appliesTo,
  maySignIn,
  originOfNewUsers,
  type SignInPart,
} from '../../../src/core/sign-in/origin.ts'

const PARTS: readonly SignInPart[] = [
  'password',
  'passkey',
  'second_factor',
  'recovery',
  'invitation',
  'confirmation',
  'roles',
  'reset',
]

test.each(PARTS)('%s is done here for own users, and at the host service for its users', (part) => {
  expect([appliesTo('own', part), appliesTo('host', part)]).toEqual([true, false])
})

test('of users of an identity provider, roles and their reset are done here', () => {
  expect(PARTS.filter((part) => appliesTo('provider', part))).toEqual(['roles', 'reset'])
})

const rule = { operators: false, handOver: false, provider: 'off' } as const

test('accounts have own users, or those of the host service if sign-in is handed over', () => {
  expect(allowedOrigins(rule)).toEqual(['own'])
  expect(allowedOrigins({ ...rule, handOver: true })).toEqual(['host'])
  expect(allowedOrigins({ ...rule, handOver: true, provider: 'required' })).toEqual(['host'])
})

test.each([
  [{ operators: false, handOver: false }, 'own'],
  [{ operators: false, handOver: true }, 'host'],
  [{ operators: true, handOver: true }, 'own'],
])('users created before they first sign in, in an account with %o, are of the origin %s', (given, origin) => {
  expect(originOfNewUsers(given)).toBe(origin)
})

test.each(['off', 'optional', 'required'] as const)(
  'the operators’ account has own users, whatever is configured: provider %s',
  (provider) => {
    for (const handOver of [false, true]) {
      const operators = { operators: true, handOver, provider }
      expect(allowedOrigins(operators)).toEqual(['own'])
      expect(maySignIn(operators, { origin: 'own', breakGlass: false })).toBe(true)
      expect(maySignIn(operators, { origin: 'provider', breakGlass: true })).toBe(false)
    }
  },
)

describe('an identity provider that is', () => {
  const may = (provider: 'off' | 'optional' | 'required', origin: 'own' | 'host' | 'provider', breakGlass = false) =>
    maySignIn({ ...rule, provider }, { origin, breakGlass })

  test('off signs nobody in', () => {
    expect([may('off', 'own'), may('off', 'provider'), may('off', 'host')]).toEqual([true, false, false])
  })

  test('optional signs its users in beside own users', () => {
    expect([may('optional', 'own'), may('optional', 'provider'), may('optional', 'host')]).toEqual([true, true, false])
  })

  test('required leaves the two administrators for emergencies of own users', () => {
    expect([may('required', 'own'), may('required', 'own', true)]).toEqual([false, true])
    expect([may('required', 'provider'), may('required', 'host', true)]).toEqual([true, false])
  })
})
