/** First two digits of user codes: they name the cells that may issue codes with them, and the cell that issued a code. */
import { describe, expect, it, test } from 'vitest'
import { type CodePrefix, issuerOf, prefixesOf, scaleToAllPrefixes } from '../../../src/core/cells/code-prefix.ts'
import { randomDigitsFor } from '../../../src/core/device/user-code.ts'

const [LIFETIME, CHANGED] = [600_000, 1_000_000]
/** All codes of the previous cell have expired. */
const SETTLED = CHANGED + LIFETIME + 60_000

const moved = (prefix: string, cell: number, previousCell: number | null): CodePrefix => ({
  prefix,
  cell,
  previousCell,
  changedAt: CHANGED,
})

describe('a prefix that changed its cell', () => {
  const prefixes = [moved('07', 2, 1), moved('08', 2, null)]

  it('is used by no cell until the codes of the previous one have expired', () => {
    expect(prefixesOf(prefixes, 2, SETTLED - 1, LIFETIME)).toEqual(['08'])
    expect(prefixesOf(prefixes, 1, SETTLED - 1, LIFETIME)).toEqual([])
    expect(prefixesOf(prefixes, 2, SETTLED, LIFETIME)).toEqual(['07', '08'])
    expect(prefixesOf(prefixes, 1, SETTLED, LIFETIME)).toEqual([])
  })

  it('leads to the previous cell until then', () => {
    expect(issuerOf(prefixes, '071234567', SETTLED - 1, LIFETIME)).toBe(1)
    expect(issuerOf(prefixes, '071234567', SETTLED, LIFETIME)).toBe(2)
    expect(issuerOf(prefixes, '081234567', CHANGED, LIFETIME)).toBe(2)
  })

  it('is settling also if it belonged to cell 0 before', () => {
    const ofFirst = [moved('07', 2, 0)]
    expect(prefixesOf(ofFirst, 2, SETTLED - 1, LIFETIME)).toEqual([])
    expect(issuerOf(ofFirst, '071234567', SETTLED - 1, LIFETIME)).toBe(0)
  })
})

describe('the issuer of a code', () => {
  const prefixes = [moved('07', 2, null), moved('70', 3, null)]

  it('is found by the first two digits, wherever else they are in the code', () => {
    expect(issuerOf(prefixes, '070000070', CHANGED, LIFETIME)).toBe(2)
    expect(issuerOf(prefixes, '700000007', CHANGED, LIFETIME)).toBe(3)
  })

  it.each(['991234507', '107000000', '0', ''])('is unknown if no prefix fits: "%s"', (userCode) => {
    expect(issuerOf(prefixes, userCode, CHANGED, LIFETIME)).toBeNull()
  })
})

test.each([
  [30, 100, 30],
  [30, 50, 60],
  [30, 1, 3_000],
  [0, 50, 0],
  // A cell that has no prefix yet is treated like one that has a single one.
  [30, 0, 3_000],
])('%i live codes with %i prefixes are as many as %i with all prefixes', (liveCodes, prefixes, scaled) => {
  expect(scaleToAllPrefixes(liveCodes, prefixes)).toBe(scaled)
})

test('a guess among the prefixes of a cell succeeds once in a million at most', () => {
  for (const live of [1, 100, 5_000, 1_000_000]) {
    for (const prefixes of [1, 17, 33, 50, 100]) {
      const digits = randomDigitsFor(Math.max(100, scaleToAllPrefixes(live, prefixes)))
      expect(live / (10 ** digits * (prefixes / 100))).toBeLessThanOrEqual(1.01e-6)
    }
  }
})
