/** The device code as the application holds it. docs/interface/device-flow.md, "The device code". */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createDeviceCodeVerifier,
  type DeviceCodeText,
  signDeviceCode,
  uuidFrom,
  verifyDeviceCode,
} from '../../src/secrets/device-code-text.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { createDeviceCodeId } from '../../src/secrets/random.ts'

const keys = parseKeyset(createKey(1)) as Keyset
const APPLICATION = 'app_k3v9m2x7q4tz'

const code: DeviceCodeText = {
  id: createDeviceCodeId(Date.parse('2026-03-01T12:00:00Z')),
  applicationId: APPLICATION,
  variant: 'access_key',
  expiresAt: Date.parse('2026-03-01T12:15:00Z'),
  intervalSeconds: 5,
}
const text = signDeviceCode(keys, code)
const sealedBytes = Buffer.from(text.slice(8), 'base64url')

function opens(given: string): boolean {
  return verifyDeviceCode(keys, given, APPLICATION) !== null
}

describe('a device code', () => {
  test('carries what a poll needs', () => {
    expect(verifyDeviceCode(keys, text, APPLICATION)).toEqual(code)
    fc.assert(
      fc.property(
        fc.record<DeviceCodeText>({
          id: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => uuidFrom(Buffer.from(bytes))),
          applicationId: fc.stringMatching(/^app_[0-9a-z]{12}$/),
          variant: fc.constantFrom('token_set', 'access_key'),
          expiresAt: fc.nat(2 ** 48 - 1),
          intervalSeconds: fc.integer({ min: 1, max: 300 }),
        }),
        (each) => {
          expect(verifyDeviceCode(keys, signDeviceCode(keys, each), each.applicationId)).toEqual(each)
        },
      ),
    )
  })

  test('is lkd_ and 59 characters that need no escape', () => {
    expect(text).toMatch(/^lkd_0000[A-Za-z0-9_-]{55}$/)
  })

  test('does not show the application it belongs to', () => {
    expect(sealedBytes.includes(APPLICATION)).toBe(false)
  })
})

describe('any other text is refused', () => {
  test('any flipped bit', () => {
    for (let bit = 0; bit < sealedBytes.length * 8; bit += 1) {
      const flipped = Buffer.from(sealedBytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(opens(`lkd_0000${flipped.toString('base64url')}`), `bit ${bit}`).toBe(false)
    }
  })

  test('DC-09 any letter in the other case', () => {
    const letters = [...text].flatMap((character, at) => (/[a-z]/i.test(character) ? [at] : []))
    expect(letters.length).toBeGreaterThan(20)
    for (const at of letters) {
      const letter = text.charAt(at)
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
      expect(opens(text.slice(0, at) + other + text.slice(at + 1)), `letter ${at}`).toBe(false)
    }
    expect(opens(text.toLowerCase())).toBe(false)
    expect(opens(text.toUpperCase())).toBe(false)
  })

  test.each(['=', '==', 'A', 'AAAA', ' ', '\n', '.', ','])('%j after it', (extra) => {
    expect(opens(text + extra)).toBe(false)
  })

  test.each([' ', '\n', 'lkd_'])('%j in front of it', (extra) => {
    expect(opens(extra + text)).toBe(false)
  })

  test('any truncation, from either end', () => {
    for (let length = 0; length < text.length; length += 1) {
      expect(opens(text.slice(0, length))).toBe(false)
      expect(opens(`lkd_${text.slice(text.length - length)}`)).toBe(length === 59)
    }
  })

  test('DC-04 another application', () => {
    for (const other of ['app_k3v9m2x7q4ty', '', 'APP_K3V9M2X7Q4TZ', `${APPLICATION} `]) {
      expect(verifyDeviceCode(keys, text, other)).toBeNull()
    }
  })

  test('DC-04 another application, also right after the code was verified for its own', () => {
    const open = createDeviceCodeVerifier(keys)
    for (let time = 0; time < 2; time += 1) {
      expect(open(text, APPLICATION)).toEqual(code)
      expect(open(text, 'app_k3v9m2x7q4ty')).toBeNull()
    }
  })

  test('another key, under its own number or under the same one', () => {
    expect(verifyDeviceCode(parseKeyset(createKey(2)) as Keyset, text, APPLICATION)).toBeNull()
    expect(verifyDeviceCode(parseKeyset(createKey(1)) as Keyset, text, APPLICATION)).toBeNull()
  })

  test('DC-08 ten thousand random well-formed texts', () => {
    const guesses = Array.from({ length: 10_000 }, () => {
      // With an existing key id: otherwise nearly all would fail at that.
      return `lkd_0000${Buffer.concat([Buffer.of(1), randomBytes(sealedBytes.length - 1)]).toString('base64url')}`
    })
    expect(guesses.filter(opens)).toEqual([])
  })

  test('DC-08 a genuine body with ten thousand random MACs', () => {
    const body = sealedBytes.subarray(0, -16)
    const guesses = Array.from({ length: 10_000 }, () => {
      return `lkd_0000${Buffer.concat([body, randomBytes(16)]).toString('base64url')}`
    })
    expect(guesses.filter(opens)).toEqual([])
  })
})

test('an id is written as PostgreSQL prints a uuid', () => {
  const bytes = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')
  expect(uuidFrom(bytes)).toBe('01234567-89ab-cdef-0123-456789abcdef')
})

describe('with a cache', () => {
  test('a code is not verified again', () => {
    const open = createDeviceCodeVerifier(keys)
    const opened = open(text, APPLICATION)
    expect(opened).toEqual(code)
    expect(open(text, APPLICATION)).toBe(opened)
  })

  test('neither forged codes nor wrong applications push out a genuine code', () => {
    const open = createDeviceCodeVerifier(keys)
    const opened = open(text, APPLICATION)
    for (let forged = 0; forged < 50_001; forged += 1) {
      if (open(`lkd_${forged}`, APPLICATION) !== null) throw new Error('a forged code was accepted')
    }
    expect(open(text, 'app_000000000000')).toBeNull()
    expect(open(text, APPLICATION)).toBe(opened)
  })
})
