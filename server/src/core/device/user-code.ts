/**
 * User code: the digits that a user types. Always a string, so that leading zeros survive.
 * docs/interface/device-flow.md, "The user code".
 *
 * The last digit is a Damm check digit: it catches every single wrong digit and every swap of neighbours before the
 * look-up. So a mistyped code costs no attempt, and a well-formed miss is almost certainly a guess.
 */

import { MAX_TYPED_CODE, nfkc } from '../nfkc.ts'

/** Damm's quasigroup of order 10; because of the zero diagonal, the check digit brings the interim digit back to 0. */
const DAMM = [
  [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
  [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
  [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
  [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
  [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
  [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
  [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
  [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
  [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
  [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
] as const

export function checkDigit(digits: string): string {
  return String(interim(digits))
}

function interim(digits: string): number {
  let value = 0
  for (const digit of digits) value = DAMM[value]?.[Number(digit)] ?? 0
  return value
}

/** Lower bound, even with few live codes. */
export const MIN_RANDOM_DIGITS = 8

/**
 * Upper bound: users give up on longer codes. With a hundred million live codes, one guess still succeeds with a
 * probability of only one in a million.
 */
const MAX_RANDOM_DIGITS = 14

/**
 * Number of digits that keeps the success of one guess at one in a million or less: r = max(8, ⌈log10(live codes)⌉ +
 * 6).
 */
export function randomDigitsFor(liveCodes: number): number {
  const needed = Math.ceil(Math.log10(Math.max(1, liveCodes))) + 6
  return Math.min(MAX_RANDOM_DIGITS, Math.max(MIN_RANDOM_DIGITS, needed))
}

export type TypedCode =
  | { readonly answer: 'code'; readonly userCode: string }
  | { readonly answer: 'empty' }
  /** Not the digits of a code, or a wrong check digit: a typing error, not a guess. */
  | { readonly answer: 'mistyped'; readonly digits: number }

const SEPARATORS = /[\s\p{Pd}\p{Cf}._·]/gu

/** Parses a typed or pasted code, in any script and grouping, into its canonical form. */
export function readTypedCode(typed: string): TypedCode {
  const compact = nfkc(typed, MAX_TYPED_CODE).replace(SEPARATORS, '')
  if (compact === '') return { answer: 'empty' }
  const digits = Array.from(compact, asciiDigit)
  if (digits.includes(null)) return { answer: 'mistyped', digits: digits.filter((digit) => digit !== null).length }
  const userCode = digits.join('')
  return isCodeLength(userCode.length) && interim(userCode) === 0
    ? { answer: 'code', userCode }
    : { answer: 'mistyped', digits: userCode.length }
}

/** Whether a code can have this many digits. If so, a mistyped code has a wrong digit rather than a wrong length. */
export function isCodeLength(digits: number): boolean {
  return digits > MIN_RANDOM_DIGITS && digits <= MAX_RANDOM_DIGITS + 1
}

/**
 * Converts a digit of any script. Unicode keeps the ten digits of a script together, zero first; runs of several
 * scripts may be adjacent.
 */
export function asciiDigit(character: string): string | null {
  if (!/^\p{Nd}$/u.test(character)) return null
  const point = character.codePointAt(0) ?? 0
  if (point < 128) return character
  let zero = point
  while (/^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((point - zero) % 10)
}

/** `432324981` as `432 324 981`: groups of three, the last one of two to four digits. */
export function groupDigits(userCode: string): string {
  const groups = userCode.match(/\d{3}(?=\d{2})|\d+/g) ?? []
  return groups.join(' ')
}

/** Whether `typed` is the last group of a user code. Compares digits only: accepts any script and spacing. */
export function isLastGroup(userCode: string, typed: string): boolean {
  const digits = Array.from(nfkc(typed, MAX_TYPED_CODE), asciiDigit).filter((digit) => digit !== null)
  return digits.join('') === groupDigits(userCode).split(' ').at(-1)
}
