/** Records of a file, however it is cut into pieces, and however long one of them is. */
import { describe, expect, it } from 'vitest'
import { createCsvReader, createLineReader, type RecordReader } from '../../../src/core/accounts/record-reader.ts'

const readAll = (reader: RecordReader, pieces: readonly string[]) => [...pieces.flatMap(reader.read), ...reader.end()]

describe('CSV', () => {
  const text = 'a,b\r\n\r\n"1,\n""x""",2\nlast,'
  const records = [
    { line: 1, cells: ['a', 'b'] },
    { line: 3, cells: ['1,\n"x"', '2'] },
    { line: 5, cells: ['last', ''] },
  ]

  it('has quoted cells with commas, line breaks and quotation marks; records know their first line', () => {
    expect(readAll(createCsvReader(), [text])).toEqual(records)
  })

  it('is read the same in pieces of any length', () => {
    for (let length = 1; length < text.length; length += 1) {
      const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
      expect(readAll(createCsvReader(), pieces)).toEqual(records)
    }
  })

  it('a record that is too long has no cells, and the next one is read', () => {
    const long = 'x'.repeat(70_000)
    expect(readAll(createCsvReader(), [`${long}\n"${long}\n",1\nb`])).toEqual([
      { line: 1, cells: null },
      { line: 2, cells: null },
      { line: 4, cells: ['b'] },
    ])
  })
})

describe('lines', () => {
  it('are numbered, without the empty ones, in pieces of any length', () => {
    const expected = [
      { line: 1, cells: ['{"a":1}'] },
      { line: 3, cells: ['{"b":2}'] },
    ]
    expect(readAll(createLineReader(), ['{"a":1}\n\n{"b":2}'])).toEqual(expected)
    expect(readAll(createLineReader(), Array.from('{"a":1}\n\n{"b":2}\n'))).toEqual(expected)
  })

  it('that are too long have no cells', () => {
    const pieces = Array.from({ length: 40 }, () => 'x'.repeat(4_000))
    expect(readAll(createLineReader(), [...pieces, '\nb\n'])).toEqual([
      { line: 1, cells: null },
      { line: 2, cells: ['b'] },
    ])
  })
})
