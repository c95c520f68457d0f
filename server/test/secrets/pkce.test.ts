/** PKCE (RFC 7636): syntax of challenge and verifier, and matching. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fitsChallenge, isCodeChallenge, isCodeVerifier } from '../../src/secrets/pkce.ts'

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

const UNRESERVED = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'
const verifiers = fc.string({ unit: fc.constantFrom(...UNRESERVED), minLength: 43, maxLength: 128 })

const s256 = (text: string) => createHash('sha256').update(text).digest('base64url')

/** ASCII, and characters that look like it. */
const CHARACTERS = [
  ...Array.from({ length: 128 }, (_, point) => String.fromCodePoint(point)),
  'é',
  '\u212a',
  '\uff21',
  '\u{1f511}',
]

describe('a verifier', () => {
  test('is made of the characters of RFC 7636, section 4.1, and of no other', () => {
    const taken = CHARACTERS.filter((character) => isCodeVerifier(`${'a'.repeat(42)}${character}`))
    expect(taken.sort()).toEqual([...UNRESERVED].sort())
    expect(CHARACTERS.filter((character) => isCodeVerifier(`${character}${'a'.repeat(42)}`)).sort()).toEqual(taken)
  })

  test('DG-12 has 43 to 128 characters', () => {
    const lengths = Array.from({ length: 200 }, (_, length) => length).filter((length) =>
      isCodeVerifier('~'.repeat(length)),
    )
    expect([lengths[0], lengths.at(-1), lengths.length]).toEqual([43, 128, 86])
  })
})

describe('a challenge', () => {
  test('is made of base64url characters, without padding', () => {
    const taken = CHARACTERS.filter((character) => isCodeChallenge(`${'a'.repeat(42)}${character}`))
    expect(taken.sort()).toEqual([...UNRESERVED.replace('.', '').replace('~', '')].sort())
    expect(isCodeChallenge(`${CHALLENGE}=`)).toBe(false)
  })

  test('has 43 characters, the length of every S256 challenge', () => {
    const lengths = Array.from({ length: 200 }, (_, length) => length).filter((length) =>
      isCodeChallenge('a'.repeat(length)),
    )
    expect(lengths).toEqual([43])
    fc.assert(fc.property(verifiers, (verifier) => isCodeChallenge(s256(verifier))))
  })
})

describe('matching', () => {
  test('the pair of RFC 7636, appendix B, matches', () => {
    expect(fitsChallenge(VERIFIER, CHALLENGE)).toBe(true)
  })

  test('every verifier matches its own challenge, and no other', () => {
    fc.assert(
      fc.property(verifiers, verifiers, (one, other) => {
        expect(fitsChallenge(one, s256(one))).toBe(true)
        expect(fitsChallenge(one, s256(other))).toBe(one === other)
      }),
    )
  })

  test('DG-11 the method "plain" does not exist: a challenge is not its own verifier', () => {
    expect(fitsChallenge(VERIFIER, VERIFIER)).toBe(false)
    expect(fitsChallenge(CHALLENGE, CHALLENGE)).toBe(false)
  })

  test.each([
    '',
    'a',
    'a'.repeat(42),
    'a'.repeat(129),
    `${VERIFIER}\n`,
    ` ${VERIFIER}`,
    `${VERIFIER}=`,
    'é'.repeat(43),
  ])('DG-12 the verifier %j has a wrong syntax and matches nothing, not even its own hash', (verifier) => {
    expect(fitsChallenge(verifier, s256(verifier))).toBe(false)
  })

  test.each([
    '',
    '=',
    CHALLENGE.slice(0, -1),
    `${CHALLENGE}=`,
    `${CHALLENGE}\n`,
    ` ${CHALLENGE}`,
    CHALLENGE.toLowerCase(),
    CHALLENGE.replace('-', '+'),
    // The same 32 bytes, with other unused bits at the end of the base64url text.
    CHALLENGE.replace(/M$/, 'N'),
    createHash('sha256').update(VERIFIER).digest('hex'),
    'é'.repeat(43),
  ])('DG-11 no verifier matches the challenge %j, and nothing throws', (challenge) => {
    expect(fitsChallenge(VERIFIER, challenge)).toBe(false)
    expect(fitsChallenge('', challenge)).toBe(false)
  })
})
