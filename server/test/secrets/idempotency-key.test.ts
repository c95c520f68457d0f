/** The stored digest of an Idempotency-Key. docs/interface/device-flow.md, "Delivery". */
import { describe, expect, test } from 'vitest'
import { digestIdempotencyKey } from '../../src/secrets/idempotency-key.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'

const keys = parseKeyset(createKey(1)) as Keyset
const CODE = '01958f00-0000-7000-8000-000000000001'
const OTHER_CODE = '01958f00-0000-7000-8000-000000000002'
const KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324'

describe('a digest', () => {
  test('is the same for the same key and code: a repetition is recognised', () => {
    expect(digestIdempotencyKey(keys, KEY, CODE)).toBe(digestIdempotencyKey(keys, KEY, CODE))
  })

  test('is another one for another key, another code or another server key', () => {
    const digests = [
      digestIdempotencyKey(keys, KEY, CODE),
      digestIdempotencyKey(keys, KEY.toUpperCase(), CODE),
      digestIdempotencyKey(keys, `${KEY}0`, CODE),
      digestIdempotencyKey(keys, KEY, OTHER_CODE),
      digestIdempotencyKey(parseKeyset(createKey(1)) as Keyset, KEY, CODE),
    ]
    expect(new Set(digests).size).toBe(digests.length)
  })

  test('is 22 characters from which the key cannot be read', () => {
    expect(digestIdempotencyKey(keys, KEY, CODE)).toMatch(/^[A-Za-z0-9_-]{22}$/)
  })
})

test.each(['x', '~'.repeat(255), '"quoted"', '!'])('%j is a key', (key) => {
  expect(digestIdempotencyKey(keys, key, CODE)).not.toBeNull()
})

test.each(['', '~'.repeat(256), 'two words', 'a\n', '\t', 'clé', '\u0000', 'x'.repeat(100_000)])(
  'what is not printable ASCII of 1 to 255 characters is no key at all, and no error either (%#)',
  (key) => {
    expect(digestIdempotencyKey(keys, key, CODE)).toBeNull()
  },
)
