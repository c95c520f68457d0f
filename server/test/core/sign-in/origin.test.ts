/** Where users come from, and what applies to them. */
import { expect, test } from 'vitest'
import { allowedOrigin, appliesTo, type SignInPart } from '../../../src/core/sign-in/origin.ts'

const PARTS: readonly SignInPart[] = [
  'password',
  'passkey',
  'second_factor',
  'recovery',
  'invitation',
  'confirmation',
  'roles',
]

test.each(PARTS)('%s is done here for own users, and at the host service for its users', (part) => {
  expect([appliesTo('own', part), appliesTo('host', part)]).toEqual([true, false])
})

test('accounts have own users, or those of the host service if sign-in is handed over', () => {
  expect(allowedOrigin({ operators: false }, false)).toBe('own')
  expect(allowedOrigin({ operators: false }, true)).toBe('host')
})

test('the operators’ account has own users, whatever is configured', () => {
  expect([allowedOrigin({ operators: true }, false), allowedOrigin({ operators: true }, true)]).toEqual(['own', 'own'])
})
