/** The time-based second factor: computed secrets, codes valid once, a setup bound to one user. */
import { TOTP, URI } from 'otpauth'
import { describe, expect, test } from 'vitest'
import {
  authenticatorSecret,
  authenticatorUri,
  checkAuthenticatorCode,
  secretText,
  signSetup,
  verifySetup,
} from '../../src/secrets/authenticator.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { signSecondStep, verifySecondStep } from '../../src/secrets/web-texts.ts'

const [first, second] = [createKey(1), createKey(2)]
const keys = parseKeyset(first) as Keyset
const rotated = parseKeyset(`${second},${first}`) as Keyset

const ID = '6f1f7f3e-6a57-4f8e-9d0b-3a1c2b4d5e6f'
const secret = authenticatorSecret(keys, { id: ID, keyId: 1 }) as Buffer

/** RFC 6238, appendix B: the secret and times of its table. */
const RFC_SECRET = Buffer.from('12345678901234567890')

describe('the secret', () => {
  test('is 20 bytes, the same each time, also after a key rotation', () => {
    expect(secret).toHaveLength(20)
    expect(authenticatorSecret(keys, { id: ID, keyId: 1 })).toEqual(secret)
    expect(authenticatorSecret(rotated, { id: ID, keyId: 1 })).toEqual(secret)
  })

  test('is another one for another authenticator or another key', () => {
    expect(authenticatorSecret(keys, { id: ID.replace('6f', '70'), keyId: 1 })).not.toEqual(secret)
    expect(authenticatorSecret(rotated, { id: ID, keyId: 2 })).not.toEqual(secret)
  })

  test('is lost with its key', () => {
    expect(authenticatorSecret(parseKeyset(second) as Keyset, { id: ID, keyId: 1 })).toBeNull()
  })

  test('is displayed as base32 in groups of four', () => {
    expect(secretText(RFC_SECRET)).toBe('GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ')
  })

  test('is read by an app from its otpauth URI, and its codes are accepted', () => {
    const uri = authenticatorUri(secret, 'Acme: Tools & Söhne', 'ann+x@acme.example')
    expect(uri).toMatch(/^otpauth:\/\/totp\//)
    const app = URI.parse(uri) as TOTP
    expect(app).toMatchObject({ label: 'ann+x@acme.example', issuer: 'Acme  Tools & Söhne', digits: 6, period: 30 })
    expect(app.algorithm).toBe('SHA1')
    expect(Buffer.from(app.secret.bytes)).toEqual(secret)
    const now = Date.now()
    expect(checkAuthenticatorCode(secret, app.generate({ timestamp: now }), now, 0)).toBe(Math.floor(now / 30_000))
  })
})

describe('codes', () => {
  test.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at second %d of the table of RFC 6238 the code is %s', (seconds, code) => {
    const step = Math.floor(seconds / 30)
    expect(checkAuthenticatorCode(RFC_SECRET, code, seconds * 1000, 0)).toBe(step)
    expect(checkAuthenticatorCode(secret, code, seconds * 1000, 0)).toBeNull()
  })

  const now = 1_234_567_890_000
  const step = 41_152_263
  const codeAt = (steps: number) =>
    new TOTP({ secret: secretText(secret).replaceAll(' ', '') }).generate({ timestamp: now + steps * 30_000 })

  test('the current one and the one before are accepted, and no other', () => {
    const accepted = [-3, -2, -1, 0, 1, 2, 3].map((steps) => checkAuthenticatorCode(secret, codeAt(steps), now, 0))
    expect(accepted).toEqual([null, null, step - 1, step, null, null, null])
  })

  test('a code is valid once, and invalidates older ones', () => {
    const after = (lastStep: number) =>
      [-1, 0].map((steps) => checkAuthenticatorCode(secret, codeAt(steps), now, lastStep))
    expect(after(step - 2)).toEqual([step - 1, step])
    expect(after(step - 1)).toEqual([null, step])
    expect(after(step)).toEqual([null, null])
  })

  test.each([
    ['as apps group it', (code: string) => ` ${code.slice(0, 3)} ${code.slice(3)} `],
    ['with invisible characters', (code: string) => `\u200e${code.slice(0, 3)}\u200b${code.slice(3)}\ufeff`],
    ['with a dash', (code: string) => `${code.slice(0, 3)}–${code.slice(3)}`],
    ['with a hyphen', (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`],
    ['full width', (code: string) => code.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))],
    ['in Arabic digits', (code: string) => code.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)))],
    [
      'in Devanagari digits',
      (code: string) => code.replace(/\d/g, (digit) => String.fromCharCode(0x966 + Number(digit))),
    ],
    ['in Persian digits', (code: string) => code.replace(/\d/g, (digit) => String.fromCharCode(0x6f0 + Number(digit)))],
  ])('%s, the code is read', (_name, write) => {
    expect(checkAuthenticatorCode(secret, write(codeAt(0)), now, 0)).toBe(step)
  })

  test.each(['', '000000', '12345', '1234567', 'abcdef', '٠'.repeat(7), '🔑🔑🔑', '\u0000', '9'.repeat(100_000)])(
    '%j is refused without throwing',
    (typed) => {
      expect(checkAuthenticatorCode(secret, typed, now, 0)).toBeNull()
    },
  )

  test('a code with other characters is refused', () => {
    for (const typed of [`${codeAt(0)}0`, `0${codeAt(0)}`, `${codeAt(0)}x`, codeAt(0).slice(1)]) {
      expect(checkAuthenticatorCode(secret, typed, now, 0)).toBeNull()
    }
  })
})

describe('the setup', () => {
  const text = signSetup(rotated, { id: ID, keyId: 2, userId: 'usr_000000000000' })

  test('is verified for its own user', () => {
    expect(verifySetup(rotated, text, 'usr_000000000000')).toEqual({ id: ID, keyId: 2 })
    expect(verifySetup(rotated, text, 'usr_000000000001')).toBeNull()
    expect(verifySetup(keys, text, 'usr_000000000000')).toBeNull()
  })

  test('any flipped bit is refused', () => {
    const bytes = Buffer.from(text, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(verifySetup(rotated, flipped.toString('base64url'), 'usr_000000000000')).toBeNull()
    }
  })

  test('TK-12 no other signed text is accepted as one', () => {
    const given = { userId: 'usr_000000000000', at: 1, passwordMark: '0123456789abcdef' }
    const step = signSecondStep(keys, given, 'acme', 'mark')
    expect(verifySecondStep(keys, step, 'acme', 'mark')).not.toBeNull()
    expect(verifySetup(keys, step, 'acme')).toBeNull()
    expect(verifySecondStep(rotated, text, 'usr_000000000000', 'mark')).toBeNull()
  })
})
