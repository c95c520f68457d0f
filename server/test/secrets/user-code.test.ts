/** User codes: uniform digits, computed from the id of a device code, and found by digests under every key. */
import { createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readTypedCode } from '../../src/core/device/user-code.ts'
import { createKey, dropKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { createDeviceCodeId } from '../../src/secrets/random.ts'
import { computeUserCode, digestUserCode, userCodeOf } from '../../src/secrets/user-code.ts'
import { sized } from '../rig/size.ts'

const [FIRST, SECOND] = [createKey(1), createKey(2)]
const keyset = (...keys: readonly string[]) => parseKeyset(keys.join(' ')) as Keyset
const ONE = keyset(FIRST)
/** All requested in the same millisecond, so that their ids differ in their random bits only. */
const NOW = Date.UTC(2026, 10, 16)

/** Chi-squared distance from uniform. For uniform values it exceeds CHANCE once in ten million tries. */
function chiSquare(counts: readonly number[]): number {
  const even = counts.reduce((sum, count) => sum + count, 0) / counts.length
  return counts.reduce((sum, count) => sum + (count - even) ** 2 / even, 0)
}

const CHANCE = { ofTen: 50, ofAHundred: 190 }

describe('user codes', () => {
  const codes = Array.from({ length: sized(1_000_000, 100_000) }, () =>
    computeUserCode(ONE.signing, createDeviceCodeId(NOW), 8),
  )

  /** How often each of `kinds` values occurred. */
  function usage(kinds: number, values: Iterable<number>): number[] {
    const counts = new Array<number>(kinds).fill(0)
    for (const value of values) counts[value] = (counts[value] ?? 0) + 1
    return counts
  }

  test('SC-01 all digits together are uniform: a byte modulo ten would fail here', () => {
    const random = codes.flatMap((code) => Array.from(code.slice(0, 8), Number))
    expect(chiSquare(usage(10, random))).toBeLessThan(CHANCE.ofTen)
    const biased = Array.from({ length: 800_000 }, (_, index) => (index % 256) % 10)
    expect(chiSquare(usage(10, biased)), 'the test has the power to see it').toBeGreaterThan(CHANCE.ofTen)
  })

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('SC-01 the digit at position %d is uniform', (at) => {
    expect(
      chiSquare(
        usage(
          10,
          codes.map((code) => Number(code[at])),
        ),
      ),
    ).toBeLessThan(CHANCE.ofTen)
  })

  test.each([0, 1, 2, 3, 4, 5, 6])('SC-01 the digits at position %d and the next are independent', (at) => {
    expect(
      chiSquare(
        usage(
          100,
          codes.map((code) => Number(code.slice(at, at + 2))),
        ),
      ),
    ).toBeLessThan(CHANCE.ofAHundred)
  })

  test('are almost never the same: of 100,000 among a hundred million, about fifty pairs', () => {
    const pairs = codes.length ** 2 / 2 / 1e8
    expect(codes.length - new Set(codes).size).toBeLessThan(pairs + 8 * Math.sqrt(pairs))
  })

  test.each([8, 9, 11, 14])('of %d random digits have an additional check digit, and can be typed', (randomDigits) => {
    for (let count = 0; count < 200; count += 1) {
      const code = computeUserCode(ONE.signing, createDeviceCodeId(NOW), randomDigits)
      expect(code).toHaveLength(randomDigits + 1)
      expect(readTypedCode(code)).toEqual({ answer: 'code', userCode: code })
    }
  })
})

describe('a user code', () => {
  const id = createDeviceCodeId(NOW)
  const stored = { id, keyId: 1, userCodeDigits: 9 }
  const userCode = computeUserCode(ONE.signing, id, 8)

  test('is computed again from its row, also when another key signs meanwhile', () => {
    for (const keys of [ONE, keyset(FIRST, SECOND), keyset(SECOND, FIRST)]) {
      expect(userCodeOf(keys, stored)).toBe(userCode)
    }
  })

  test('is the first half of an HMAC of the id, modulo its length, and the check digit', () => {
    const keys = keyset(`1:${'q'.repeat(43)}`)
    const key = hkdfSync('sha256', Buffer.from('q'.repeat(43), 'base64url'), Buffer.alloc(0), 'latchkey/user-code', 32)
    const bytes = createHmac('sha256', Buffer.from(key))
      .update(Buffer.from(id.replaceAll('-', ''), 'hex'))
      .digest()
    const number = BigInt(`0x${bytes.toString('hex', 0, 16)}`)
    for (const randomDigits of [8, 12]) {
      const digits = String(number % 10n ** BigInt(randomDigits)).padStart(randomDigits, '0')
      expect(computeUserCode(keys.signing, id, randomDigits).slice(0, -1)).toBe(digits)
    }
  })

  test('is unknown without its key', () => {
    expect(userCodeOf(keyset(SECOND), stored)).toBeNull()
    expect(userCodeOf(keyset(createKey(1)), stored)).not.toBe(userCode)
    const keys = keyset(SECOND, FIRST)
    dropKey(keys, 1)
    expect(userCodeOf(keys, stored)).toBeNull()
  })

  test('has a digest of 128 bits under each key, the one that signs first', () => {
    const [[first], [second]] = [digestUserCode(ONE, userCode), digestUserCode(keyset(SECOND), userCode)]
    expect(digestUserCode(keyset(SECOND, FIRST), userCode)).toEqual([second, first])
    expect([first?.length, second?.length, first?.equals(second ?? Buffer.of())]).toEqual([16, 16, false])
  })
})
