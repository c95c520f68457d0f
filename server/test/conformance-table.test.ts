/** docs/audit/conformance.md: every row names tests that exist, and every difference from the contract is listed with its reason. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Row = {
  readonly id: string
  readonly verdict: string
  readonly files: readonly string[]
}

const rows: readonly Row[] = read('docs/audit/conformance.md')
  .split('\n')
  .filter((line) => /^\| \d+\.\d+ /.test(line))
  .map((line) => {
    const [, id = '', , verdict = '', shownBy = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    return { id, verdict, files: Array.from(shownBy.matchAll(/`([\w./-]+)`/g), ([, file = '']) => file) }
  })

const differences = Array.from(
  read('docs/interface/differences.md').matchAll(/^(\d+)\. \*\*/gm),
  ([, number]) => number,
)
const cited = rows.flatMap(({ verdict }) => Array.from(verdict.matchAll(/\d+/g), ([number]) => number))

test('every row has a number of its own and a verdict', () => {
  expect(rows).not.toEqual([])
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  expect(rows.filter(({ verdict }) => !/^(conform|difference \d+(, \d+)*)$/.test(verdict))).toEqual([])
})

test('every difference that a row cites is listed in docs/interface/differences.md, and every listed one is cited', () => {
  expect(differences.length).toBeGreaterThan(0)
  expect([...new Set(cited)].sort()).toEqual([...differences].sort())
})

test.each(rows)('row $id names files of tests that exist', ({ files }) => {
  expect(files).not.toEqual([])
  expect(files.filter((file) => !file.endsWith('.test.ts') || !existsSync(join(ROOT, file)))).toEqual([])
})
