/** The cache of verified texts: bounded, and separate for each application. */
import { expect, test } from 'vitest'
import { createDeviceCodeVerifier, signDeviceCode, verifyDeviceCode } from '../../src/secrets/device-code-text.ts'
import { createKey, dropKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { createVerifiedCache } from '../../src/secrets/recent.ts'

test('keeps at most two generations, the recently used longest', () => {
  const recent = createVerifiedCache<number>(10, parseKeyset(createKey(1)) as Keyset)
  for (let value = 0; value < 15; value += 1) recent.set(`text ${value}`, value)
  expect(recent.get('text 0')).toBe(0)
  for (let value = 15; value < 25; value += 1) recent.set(`text ${value}`, value)
  expect(recent.get('text 0')).toBe(0)
  expect(recent.get('text 5')).toBeUndefined()
  const known = Array.from({ length: 25 }, (_, value) => recent.get(`text ${value}`)).filter(
    (value) => value !== undefined,
  )
  expect(known.length).toBeLessThanOrEqual(20)
})

test('a generation has as many texts as it may, and begins anew with the next', () => {
  const recent = createVerifiedCache<number>(2, parseKeyset(createKey(1)) as Keyset)
  const known = (...texts: readonly string[]) => texts.map((text) => recent.get(text) !== undefined)
  for (const text of ['a', 'b', 'c']) recent.set(text, 1)
  for (const text of ['d', 'e']) recent.set(text, 1)
  // e begins the third generation: the first, of a and b, is gone, the second is still there.
  expect(known('a', 'b', 'e')).toEqual([false, false, true])
  expect(known('c')).toEqual([true])
})

test('looking for an unknown text pushes out nothing', () => {
  const recent = createVerifiedCache<number>(2, parseKeyset(createKey(1)) as Keyset)
  recent.set('a', 1)
  for (let value = 0; value < 10; value += 1) expect(recent.get(`unknown ${value}`)).toBeUndefined()
  expect(recent.get('a')).toBe(1)
})

test('is emptied when a key is retired', () => {
  const keys = parseKeyset(`${createKey(2)} ${createKey(1)}`) as Keyset
  const recent = createVerifiedCache<number>(1, keys)
  for (const value of [1, 2]) recent.set(`text ${value}`, value)
  expect([recent.get('text 1'), recent.get('text 2')]).toEqual([1, 2])
  dropKey(keys, 1)
  expect([recent.get('text 1'), recent.get('text 2')]).toEqual([undefined, undefined])
  recent.set('text 3', 3)
  expect(recent.get('text 3'), 'and filled again').toBe(3)
})

test('DC-04 a device code verified for its application is refused for another, and with a changed letter', () => {
  const keys = parseKeyset(createKey(1)) as Keyset
  const open = createDeviceCodeVerifier(keys)
  const code = {
    id: '01958f00-0000-7000-8000-000000000001',
    applicationId: 'app_000000000000',
    variant: 'token_set' as const,
    expiresAt: 1_794_700_000_123,
    intervalSeconds: 5,
  }
  const text = signDeviceCode(keys, code)
  for (let time = 0; time < 3; time += 1) {
    expect(open(text, code.applicationId)).toEqual(code)
    expect(open(text, 'app_111111111111')).toBeNull()
    expect(open(`${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`, code.applicationId)).toBeNull()
  }
  expect(verifyDeviceCode(keys, text, code.applicationId)).toEqual(code)
})
