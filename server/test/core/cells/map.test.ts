/** The map of cells: buckets and shares. */
import { describe, expect, it } from 'vitest'
import { bucketOfCell, cellOfBucket, homeOf, shareFor } from '../../../src/core/cells/map.ts'

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
    [4097, 7],
  ]),
}

describe('a bucket', () => {
  it('of accounts belongs to the cell in the map, one of a cell to this cell', () => {
    expect([0, 4095, 4096, 1].map((bucket) => cellOfBucket(map, bucket)?.id ?? null)).toEqual([0, 42, 42, null])
    expect(bucketOfCell(42).toString(16)).toBe('f02a')
    expect(cellOfBucket(map, 0xf02a)?.id).toBe(42)
    expect(cellOfBucket(map, 0xf001)).toBeNull()
  })

  it('of cell 0 is the first of those of cells', () => {
    expect(bucketOfCell(0)).toBe(0xf000)
    expect(cellOfBucket(map, 0xf000)?.id).toBe(0)
    expect(cellOfBucket(map, 0xefff)).toBeNull()
  })

  it('belongs to no cell if it is not in the map, or if its cell is not', () => {
    expect([cellOfBucket(map, 1), cellOfBucket(map, 4097)]).toEqual([null, null])
  })

  it('is shared with a new cell: its part of all, at most half of what there is', () => {
    const owned = [1, 2, 3, 4, 5, 6]
    expect(shareFor(owned, 6, 3)).toEqual([5, 6])
    expect(shareFor(owned, 100, 2)).toEqual([4, 5, 6])
    expect(shareFor([1], 100, 2)).toEqual([])
  })

  it('is not shared in parts: what remains stays where it is', () => {
    expect(shareFor([1, 2, 3, 4, 5, 6], 8, 3)).toEqual([5, 6])
    expect(shareFor([1, 2, 3, 4, 5], 100, 2)).toEqual([4, 5])
    expect(shareFor([], 100, 2)).toEqual([])
  })
})

describe('the home cell', () => {
  it('is the one that says so, whatever its place in the map', () => {
    expect(homeOf(map)?.id).toBe(0)
    expect(homeOf({ cells: new Map([1, 2, 3].map((id) => [id, cell(id, id === 2)])) })?.id).toBe(2)
  })

  it('is null if there is none', () => {
    expect(homeOf({ cells: new Map([[1, cell(1)]]) })).toBeNull()
    expect(homeOf({ cells: new Map() })).toBeNull()
  })
})
