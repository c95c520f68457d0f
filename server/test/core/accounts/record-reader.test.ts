/** Records of a file, however it is cut into pieces, and however long one of them is. */
import { describe, expect, it } from 'vitest'
import { createCsvReader, createLineReader, type RecordReader } from '../../../src/core/accounts/record-reader.ts'

const readAll = (reader: RecordReader, pieces: readonly string[]) => [...pieces.flatMap(reader.read), ...reader.end()]

/** Characters of the longest record, with the commas and quotation marks in it. */
const LONGEST = 64 * 1024

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

  it.each([
    ['quotation marks in the first cell', '"a"\n', ['a']],
    ['quotation marks in a later cell', 'a,"b"\n', ['a', 'b']],
    ['a quotation mark inside a cell', '"a ""b"" c"\n', ['a "b" c']],
    ['an empty cell in quotation marks', '""\n', ['']],
    ['empty cells', ',,\n', ['', '', '']],
    ['a line break of two characters in quotation marks', '"a\r\nb"\r\n', ['a\r\nb']],
    ['a quotation mark that nobody closes', '"a,\nb', ['a,\nb']],
  ])('%s: %j', (_what, text, cells) => {
    expect(readAll(createCsvReader(), [text])).toEqual([{ line: 1, cells }])
  })

  it.each([
    ['quotation marks after one that is never closed', '"'],
    ['one cell', 'x'],
    ['empty cells', ','],
  ])('a record that does not end takes no memory: %s', (_what, character) => {
    const reader = createCsvReader()
    const before = process.memoryUsage().heapUsed
    reader.read(character)
    for (let piece = 0; piece < 20; piece += 1) reader.read(character.repeat(2 ** 20))
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6)
    expect(reader.end()).toEqual([{ line: 1, cells: null }])
  })

  it('has no record after the last line break, nor in a file without text', () => {
    expect(readAll(createCsvReader(), ['a\n'])).toEqual([{ line: 1, cells: ['a'] }])
    expect(readAll(createCsvReader(), [''])).toEqual([])
  })

  it.each([
    ['one cell', 'x'.repeat(LONGEST), ['x'.repeat(LONGEST)]],
    ['a quoted cell', `"${'x'.repeat(LONGEST - 2)}"`, ['x'.repeat(LONGEST - 2)]],
    [
      'two quotation marks at the end of a cell that is not closed',
      `"${'x'.repeat(LONGEST - 3)}""`,
      [`${'x'.repeat(LONGEST - 3)}"`],
    ],
    ['an empty cell at the end', `${'x'.repeat(LONGEST - 1)},`, ['x'.repeat(LONGEST - 1), '']],
  ])('has a record of 65,536 characters at most: %s', (_what, text, cells) => {
    expect(readAll(createCsvReader(), [text])).toEqual([{ line: 1, cells }])
    expect(readAll(createCsvReader(), [`x${text}`])).toEqual([{ line: 1, cells: null }])
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
  it('that are blank are left out, at the end as well', () => {
    expect(readAll(createLineReader(), [' \r\n{}\r\n\t'])).toEqual([{ line: 2, cells: ['{}\r'] }])
    expect(readAll(createLineReader(), [''])).toEqual([])
  })

  it.each([
    ['in one piece', (text: string) => [`${text}\n`]],
    ['with the line break in another piece', (text: string) => [text, '\n']],
    ['at the end of the file', (text: string) => [text]],
  ])('have 65,536 characters at most, %s', (_where, cut) => {
    const longest = 'x'.repeat(LONGEST)
    expect(readAll(createLineReader(), cut(longest))).toEqual([{ line: 1, cells: [longest] }])
    expect(readAll(createLineReader(), cut(`${longest}x`))).toEqual([{ line: 1, cells: null }])
  })

  it('that are too long are too long to their end, whatever follows in another piece', () => {
    const long = 'x'.repeat(LONGEST + 1)
    expect(readAll(createLineReader(), [long, 'b\nc'])).toEqual([
      { line: 1, cells: null },
      { line: 2, cells: ['c'] },
    ])
  })
})
