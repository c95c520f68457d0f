/** CSV for spreadsheets: foreign text is never a formula. */
import { expect, test } from 'vitest'
import { csvLine } from '../../src/core/csv.ts'

test.each([
  ['=HYPERLINK("https://evil.example")', `"'=HYPERLINK(""https://evil.example"")"\r\n`],
  ['+1@northwind.example', "'+1@northwind.example\r\n"],
  ['-2+3', "'-2+3\r\n"],
  ['@SUM(1)', "'@SUM(1)\r\n"],
  ['\t=1', "'\t=1\r\n"],
  ['\r=1', `"'\r=1"\r\n`],
  ['\n=1', `"'\n=1"\r\n`],
  ['＝1', "'＝1\r\n"],
  ['ann@northwind.example', 'ann@northwind.example\r\n'],
  ['a "quoted", one', '"a ""quoted"", one"\r\n'],
  ['two\r\nlines', '"two\r\nlines"\r\n'],
  ['', '\r\n'],
])('%j', (cell, line) => {
  expect(csvLine([cell])).toBe(line)
})

test('numbers stay numbers, and null is empty', () => {
  expect(csvLine([7, null, -7, 'x'])).toBe('7,,-7,x\r\n')
})
