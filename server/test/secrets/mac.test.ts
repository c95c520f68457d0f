/** HMAC-SHA-256 with prepared keys, and the comparison of secrets. */
import { describe, expect, test } from 'vitest'
import { equalSecrets, mac, macKey } from '../../src/secrets/mac.ts'

describe('RFC 4231', () => {
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

test('secrets are equal only byte for byte and length for length', () => {
  const secret = Buffer.from('0123456789abcdef')
  expect(equalSecrets(secret, Buffer.from(secret))).toBe(true)
  expect(equalSecrets(secret, Buffer.from('0123456789abcdeF'))).toBe(false)
  expect(equalSecrets(secret, secret.subarray(0, 15))).toBe(false)
  expect(equalSecrets(Buffer.alloc(0), Buffer.alloc(0))).toBe(true)
})
