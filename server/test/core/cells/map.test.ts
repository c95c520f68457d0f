/** The map of cells: buckets, shares, and prefixes of user codes. */
import { describe, expect, it } from 'vitest'
import { issuerOf, prefixesOf, scaleToAllPrefixes } from '../../../src/core/cells/code-prefix.ts'
import { bucketOfCell, cellOfBucket, homeOf, shareFor } from '../../../src/core/cells/map.ts'
import { randomDigitsFor } from '../../../src/core/device/user-code.ts'

const cell = (id: number, home = false) => ({ id, name: `cell-${id}`, address: 'http://127.0.0.1', home })
const map = {
  cells: new Map([
    [0, cell(0, true)],
    [42, cell(42)],
  ]),
  buckets: new Map([
    [0, 0],
    [4095, 42],
    [4096, 42],
  ]),
}

describe('a bucket', () => {
  it('of accounts belongs to the cell in the map, one of a cell to this cell', () => {
    expect([0, 4095, 4096, 1].map((bucket) => cellOfBucket(map, bucket)?.id ?? null)).toEqual([0, 42, 42, null])
    expect(bucketOfCell(42).toString(16)).toBe('f02a')
    expect(cellOfBucket(map, 0xf02a)?.id).toBe(42)
    expect(cellOfBucket(map, 0xf001)).toBeNull()
    expect(homeOf(map)?.id).toBe(0)
  })

  it('is shared with a new cell: its part of all, at most half of what there is', () => {
    const owned = [1, 2, 3, 4, 5, 6]
    expect(shareFor(owned, 6, 3)).toEqual([5, 6])
    expect(shareFor(owned, 100, 2)).toEqual([4, 5, 6])
    expect(shareFor([1], 100, 2)).toEqual([])
  })
})

describe('a prefix that changed its cell', () => {
  const [LIFETIME, CHANGED] = [600_000, 1_000_000]
  const settled = CHANGED + LIFETIME + 60_000
  const prefixes = [
    { prefix: '07', cell: 2, previousCell: 1, changedAt: CHANGED },
    { prefix: '08', cell: 2, previousCell: null, changedAt: CHANGED },
  ]

  it('is used by no cell until the codes of the previous one have expired', () => {
    expect(prefixesOf(prefixes, 2, settled - 1, LIFETIME)).toEqual(['08'])
    expect(prefixesOf(prefixes, 1, settled - 1, LIFETIME)).toEqual([])
    expect(prefixesOf(prefixes, 2, settled, LIFETIME)).toEqual(['07', '08'])
  })

  it('leads to the previous cell until then', () => {
    expect(issuerOf(prefixes, '071234567', settled - 1, LIFETIME)).toBe(1)
    expect(issuerOf(prefixes, '071234567', settled, LIFETIME)).toBe(2)
    expect(issuerOf(prefixes, '081234567', CHANGED, LIFETIME)).toBe(2)
    expect(issuerOf(prefixes, '991234567', CHANGED, LIFETIME)).toBeNull()
  })
})

it('a guess among the prefixes of a cell succeeds once in a million at most', () => {
  for (const live of [1, 100, 5_000, 1_000_000]) {
    for (const prefixes of [1, 17, 33, 50, 100]) {
      const digits = randomDigitsFor(Math.max(100, scaleToAllPrefixes(live, prefixes)))
      expect(live / (10 ** digits * (prefixes / 100))).toBeLessThanOrEqual(1.01e-6)
    }
  }
})
