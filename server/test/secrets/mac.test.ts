/** HMAC-SHA-256 from one-shot hashes is HMAC-SHA-256. docs/decisions/0005-hmac-from-one-shot-hashes.md. */
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { equalSecrets, mac, macKey } from '../../src/secrets/mac.ts'

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array))

function hmac(key: Buffer, message: Buffer): string {
  return createHmac('sha256', key).update(message).digest('hex')
}

describe('RFC 4231, the cases whose key has at most 64 bytes', () => {
  test.each([
    {
      name: '4.2',
      key: '0b'.repeat(20),
      message: Buffer.from('Hi There').toString('hex'),
      expected: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    },
    {
      name: '4.3',
      key: Buffer.from('Jefe').toString('hex'),
      message: Buffer.from('what do ya want for nothing?').toString('hex'),
      expected: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    },
    {
      name: '4.4',
      key: 'aa'.repeat(20),
      message: 'dd'.repeat(50),
      expected: '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
    },
    {
      name: '4.5',
      key: '0102030405060708090a0b0c0d0e0f10111213141516171819',
      message: 'cd'.repeat(50),
      expected: '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
    },
    {
      name: '4.6, which shows 128 bits',
      key: '0c'.repeat(20),
      message: Buffer.from('Test With Truncation').toString('hex'),
      expected: 'a3b6167473100ee06e0c796c2955552b',
    },
  ])('section $name', ({ key, message, expected }) => {
    const code = mac(macKey(Buffer.from(key, 'hex')), Buffer.from(message, 'hex'))
    expect(code.toString('hex').slice(0, expected.length)).toBe(expected)
    expect(code).toHaveLength(32)
  })
})

describe('against node:crypto', () => {
  test('every key and every message give what createHmac gives', () => {
    fc.assert(
      fc.property(bytes(64), bytes(512), (key, message) => {
        expect(mac(macKey(key), message).toString('hex')).toBe(hmac(key, message))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([0, 1, 31, 32, 63, 64])('a key of %d bytes, with messages of every length', (length) => {
    const key = Buffer.alloc(length, 0xa5)
    const prepared = macKey(key)
    for (let size = 0; size <= 512; size += 1) {
      const message = Buffer.alloc(size, size)
      expect(mac(prepared, message).toString('hex')).toBe(hmac(key, message))
    }
  })

  test('two keys in turn, long messages before short ones: no call affects the next', () => {
    const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const
    const prepared = [macKey(keys[0]), macKey(keys[1])] as const
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(0 as const, 1 as const), bytes(512)), { maxLength: 20 }),
        (calls) => {
          const made = calls.map(([which, message]) => mac(prepared[which], message))
          // Compared only now: a result must not share memory with a later call.
          expect(made.map((code) => code.toString('hex'))).toEqual(
            calls.map(([which, message]) => hmac(keys[which], message)),
          )
        },
      ),
    )
  })
})

test('a key or a message that does not fit is refused, never truncated', () => {
  expect(() => macKey(Buffer.alloc(65))).toThrow(RangeError)
  expect(() => macKey(Buffer.alloc(65))).toThrow(/key .*64 bytes/)
  expect(() => mac(macKey(Buffer.alloc(32)), Buffer.alloc(513))).toThrow(RangeError)
  expect(() => mac(macKey(Buffer.alloc(32)), Buffer.alloc(513))).toThrow(/message is too long/)
})

test('the longest key and the longest message fit', () => {
  const [key, message] = [Buffer.alloc(64, 7), Buffer.alloc(512, 8)]
  expect(mac(macKey(key), message).toString('hex')).toBe(hmac(key, message))
})

test('secrets are equal only byte for byte and length for length', () => {
  const secret = Buffer.from('0123456789abcdef')
  expect(equalSecrets(secret, Buffer.from(secret))).toBe(true)
  expect(equalSecrets(secret, Buffer.from('0123456789abcdeF'))).toBe(false)
  expect(equalSecrets(secret, secret.subarray(0, 15))).toBe(false)
  expect(equalSecrets(Buffer.alloc(0), Buffer.alloc(0))).toBe(true)
})
