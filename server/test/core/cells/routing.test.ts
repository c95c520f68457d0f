/** The rules by which a server finds the cell of a request. docs/scale.md, "Cells". */
import { describe, expect, it } from 'vitest'
import type { CellMap } from '../../../src/core/cells/map.ts'
import { otherCell } from '../../../src/core/cells/routing.ts'

const MAP: CellMap = {
  version: 7,
  cells: new Map(
    [1, 2].map((id) => [id, { id, name: `name${id}`, address: `http://10.0.0.${id}:8080`, home: id === 1 }]),
  ),
  buckets: new Map([
    [0, 1],
    [1, 2],
  ]),
  prefixes: [],
  accountBuckets: new Map(),
}

describe('a request', () => {
  it('belongs to another cell if its bucket says so', () => {
    expect(otherCell(MAP, 1, 1)).toMatchObject({ id: 2, address: 'http://10.0.0.2:8080' })
    expect(otherCell(MAP, 2, 0)?.id).toBe(1)
    expect(otherCell(MAP, 1, 61_442)?.id).toBe(2)
  })

  it.each([
    ['its bucket is in this cell', 1, 0],
    ['its bucket is in this cell, which is not the first', 2, 1],
    ['its bucket is that of this cell', 2, 61_442],
    ['its bucket is that of a cell that does not exist', 1, 61_443],
    ['its bucket is in no cell', 1, 17],
    ['it has no bucket', 1, null],
  ])('stays here if %s', (_, here, bucket) => {
    expect(otherCell(MAP, here, bucket)).toBeNull()
  })
})
