/** The digits that a user types. docs/interface/device-flow.md, "The user code". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  asciiDigit,
  checkDigit,
  groupDigits,
  isCodeLength,
  isLastGroup,
  randomDigitsFor,
  readTypedCode,
} from '../../../src/core/device/user-code.ts'
import { figure, sized } from '../../rig/size.ts'

const DIGITS = '0123456789'

/** Every length that a user code can have: 8 to 14 random digits and the check digit. */
const userCode = fc
  .array(fc.constantFrom(...DIGITS), { minLength: 8, maxLength: 14 })
  .map((digits) => digits.join(''))
  .map((digits) => digits + checkDigit(digits))

function withDigit(code: string, at: number, digit: string): string {
  return code.slice(0, at) + digit + code.slice(at + 1)
}

describe('the check digit', () => {
  test('is Damm’s: 572 is followed by 4', () => {
    expect(checkDigit('572')).toBe('4')
  })

  test('every single wrong digit is caught', () => {
    fc.assert(
      fc.property(userCode, (code) => {
        for (const at of code.split('').keys()) {
          for (const digit of DIGITS.replace(code.charAt(at), '')) {
            expect(readTypedCode(withDigit(code, at, digit)).answer).toBe('mistyped')
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  test('every swap of two neighbours is caught', () => {
    fc.assert(
      fc.property(userCode, (code) => {
        for (let at = 0; at < code.length - 1; at += 1) {
          const [left, right] = [code.charAt(at), code.charAt(at + 1)]
          if (left === right) continue
          expect(readTypedCode(withDigit(withDigit(code, at, right), at + 1, left)).answer).toBe('mistyped')
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('both hold for all four-digit numbers, so for every row and column of the table', () => {
    for (let number = 0; number < 10_000; number += 1) {
      const digits = String(number).padStart(4, '0')
      const check = checkDigit(digits)
      for (let at = 0; at < 4; at += 1) {
        for (const digit of DIGITS.replace(digits.charAt(at), '')) {
          if (checkDigit(withDigit(digits, at, digit)) === check) throw new Error(`${digits} at ${at} as ${digit}`)
        }
        const [left, right] = [digits.charAt(at), (digits + check).charAt(at + 1)]
        const swapped = withDigit(withDigit(digits + check, at, right), at + 1, left)
        if (left !== right && checkDigit(swapped) === '0') throw new Error(`${digits}${check} swapped at ${at}`)
      }
    }
  })
})

describe('a typed code', () => {
  test('is read back exactly, with leading zeros', () => {
    fc.assert(
      fc.property(userCode, (code) => {
        expect(readTypedCode(code)).toEqual({ answer: 'code', userCode: code })
      }),
    )
    expect(readTypedCode('000000000')).toEqual({ answer: 'code', userCode: '000000000' })
    expect(readTypedCode(`0000123${checkDigit('0000123')}`)).toEqual({ answer: 'mistyped', digits: 8 })
  })

  test.each([
    ['a space', ' '],
    ['a tab', '\t'],
    ['a line break', '\r\n'],
    ['a no-break space', '\u00a0'],
    ['a narrow no-break space', '\u202f'],
    ['a figure space', '\u2007'],
    ['an ideographic space', '\u3000'],
    ['a hyphen-minus', '-'],
    ['a hyphen', '\u2010'],
    ['a non-breaking hyphen', '\u2011'],
    ['an en dash', '\u2013'],
    ['an em dash', '\u2014'],
    ['a fullwidth hyphen-minus', '\uff0d'],
    ['a soft hyphen', '\u00ad'],
    ['a zero width joiner', '\u200d'],
    ['a zero width space', '\u200b'],
    ['a right-to-left mark', '\u200f'],
    ['a right-to-left override', '\u202e'],
    ['an Arabic letter mark', '\u061c'],
    ['an isolate', '\u2067'],
    ['a byte order mark', '\ufeff'],
    ['a full stop', '.'],
    ['a middle dot', '\u00b7'],
    ['an underscore', '_'],
  ])('UC-03 %s around and between its digits changes nothing', (_name, separator) => {
    const code = `00432498${checkDigit('00432498')}`
    const typed = separator + code.split('').join(separator) + separator
    expect(readTypedCode(typed)).toEqual({ answer: 'code', userCode: code })
  })

  test.each(['', ' ', '\u200b\u00a0-', '\n'])('%j is empty', (typed) => {
    expect(readTypedCode(typed)).toEqual({ answer: 'empty' })
  })

  test.each([
    ['letters that look like digits', '43232498O', 8],
    ['a sign', '+432324981', 9],
    ['an exponent', '4323249e1', 8],
    ['a hexadecimal prefix', '0x4323249', 8],
    ['a fraction', '43232498\u00bd', 10],
    ['a NUL', '432324981\u0000', 9],
    ['a lone surrogate', '432324981\ud800', 9],
    ['a Chinese numeral', '43232498\u4e00', 8],
    ['too few digits', '43232498', 8],
    ['no digit at all', 'hello', 0],
  ])('UC-03 %s is mistyped, before any look-up', (_name, typed, digits) => {
    expect(readTypedCode(typed)).toEqual({ answer: 'mistyped', digits })
  })

  test('has from 9 to 15 digits, whatever the check digit says', () => {
    for (let length = 1; length <= 20; length += 1) {
      const digits = '7'.repeat(length - 1)
      const answer = length >= 9 && length <= 15 ? 'code' : 'mistyped'
      expect(readTypedCode(digits + checkDigit(digits)).answer, `${length} digits`).toBe(answer)
    }
  })
})

describe('digits of every script', () => {
  /** The first code point of each run of ten decimal digits; Unicode encodes them zero to nine, contiguously. */
  const zeros: number[] = []
  for (let point = 0, inRun = 0; point <= 0x10ffff; point += 1) {
    if (!/^\p{Nd}$/u.test(String.fromCodePoint(point))) inRun = 0
    else if (inRun++ % 10 === 0) zeros.push(point)
  }
  const code = `${DIGITS}${checkDigit(DIGITS)}`

  test('UC-03 all decimal digits that Unicode has are read as 0 to 9', () => {
    expect(zeros.length).toBeGreaterThan(70)
    const misread = zeros.filter((zero) => {
      const typed = Array.from(code, (digit) => String.fromCodePoint(zero + Number(digit))).join('')
      const read = readTypedCode(typed)
      return read.answer !== 'code' || read.userCode !== code
    })
    expect(misread.map((zero) => `U+${zero.toString(16).toUpperCase()}`)).toEqual([])
  })

  test('UC-03 the digits that Intl writes in any numbering system are read back', () => {
    const misread = Intl.supportedValuesOf('numberingSystem').filter((numberingSystem) => {
      const format = new Intl.NumberFormat('en', { numberingSystem, useGrouping: false })
      const typed = Array.from(code, (digit) => format.format(Number(digit))).join('')
      // Some systems write words or Chinese numerals, which are not decimal digits.
      if (!/^\p{Nd}+$/u.test(typed)) return false
      const read = readTypedCode(typed)
      return read.answer !== 'code' || read.userCode !== code
    })
    expect(misread).toEqual([])
  })

  test('UC-03 scripts may be mixed within one code', () => {
    fc.assert(
      fc.property(
        userCode,
        fc.infiniteStream(fc.constantFrom(0x30, 0x660, 0x6f0, 0x966, 0xff10, 0x1d7d8)),
        (typed, from) => {
          const mixed = Array.from(typed, (digit) => String.fromCodePoint((from.next().value ?? 0x30) + Number(digit)))
          expect(readTypedCode(mixed.join(''))).toEqual({ answer: 'code', userCode: typed })
        },
      ),
    )
  })
})

describe('the length of a user code', () => {
  test.each([
    [0, 8],
    [1, 8],
    [100, 8],
    [101, 9],
    [1_000, 9],
    [1_001, 10],
    [100_000, 11],
    [1_000_000, 12],
    [100_000_000, 14],
    [1_000_000_000, 14],
  ])('with %d live codes is %d random digits', (liveCodes, randomDigits) => {
    expect(randomDigitsFor(liveCodes)).toBe(randomDigits)
  })

  test('UC-02 keeps one guess at one in a million or less, up to a hundred million live codes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000_000 }), (liveCodes) => {
        expect(liveCodes / 10 ** randomDigitsFor(liveCodes)).toBeLessThanOrEqual(1e-6)
      }),
    )
  })
})

describe('a crowd of guessers', () => {
  const LIVE = sized(100_000, 10_000)
  const GUESSES = sized(1_000_000, 100_000)

  test(`UC-02 with ${figure(LIVE)} live codes, ${figure(GUESSES)} guesses find as many as chance allows`, () => {
    const digits = randomDigitsFor(LIVE)
    const draw = () => Math.floor(Math.random() * 10 ** digits)
    const live = new Set(Array.from({ length: LIVE }, draw))
    const hits = Array.from({ length: GUESSES }, draw).filter((guess) => live.has(guess)).length
    const expected = (LIVE * GUESSES) / 10 ** digits
    expect(expected).toBeLessThanOrEqual(GUESSES / 1e6)
    // Four standard deviations of a Poisson distribution, and one.
    expect(hits).toBeLessThanOrEqual(expected + 4 * Math.sqrt(expected) + 1)
  })
})

describe('grouping for display', () => {
  test.each([
    ['432324981', '432 324 981'],
    ['4323249812', '432 324 9812'],
    ['43232498123', '432 324 981 23'],
    ['432324981234', '432 324 981 234'],
    ['4323249812345', '432 324 981 2345'],
    ['43232498123456', '432 324 981 234 56'],
    ['432324981234567', '432 324 981 234 567'],
    ['000000000', '000 000 000'],
  ])('%s is shown as %s', (digits, shown) => {
    expect(groupDigits(digits)).toBe(shown)
  })

  test('of no digits is nothing', () => {
    expect(groupDigits('')).toBe('')
  })

  test('the displayed form can be typed', () => {
    fc.assert(
      fc.property(userCode, (code) => {
        expect(readTypedCode(groupDigits(code))).toEqual({ answer: 'code', userCode: code })
      }),
    )
  })
})

describe('the last group, typed again', () => {
  test.each([
    ['432324981', '981'],
    ['432324981', ' 9 8-1\n'],
    ['432324981', '\u0669\u0668\u0661'],
    ['432324981', '\u2468\u2467\u2460'],
    ['4323249812', '9812'],
    ['43232498123', '23'],
    ['000000000', '000'],
  ])('of %s may be %j', (code, typed) => {
    expect(isLastGroup(code, typed)).toBe(true)
  })

  test.each(['', '98', '81', '982', '432', '324', '4981', '9810', '324981', '324 981', '432324981', 'abc'])(
    'of 432324981 is not %j',
    (typed) => {
      expect(isLastGroup('432324981', typed)).toBe(false)
    },
  )
})

test.each([
  ['0', '0'],
  ['9', '9'],
  ['\u0660', '0'],
  ['\u0669', '9'],
  ['/', null],
  [':', null],
  ['a', null],
  ['\u00b2', null],
  ['\u2167', null],
  ['12', null],
  ['1a', null],
  ['a1', null],
  ['', null],
])('the digit of %j is %j', (character, digit) => {
  expect(asciiDigit(character)).toBe(digit)
})

test('a code has from 9 to 15 digits', () => {
  expect(Array.from({ length: 20 }, (_, digits) => digits).filter(isCodeLength)).toEqual([9, 10, 11, 12, 13, 14, 15])
})
