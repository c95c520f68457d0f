/** docs/conformance.md: every row names tests that exist, and every difference from the contract is listed with its reason. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Row = {
  readonly id: string
  readonly verdict: string
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

const rows: readonly Row[] = read('docs/conformance.md')
  .split('\n')
  .filter((line) => /^\| \d+\.\d+ /.test(line))
  .map((line) => {
    const [, id = '', , verdict = '', shownBy = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const named = Array.from(shownBy.matchAll(/`([\w./-]+)`: "([^"]+)"/g))
    return { id, verdict, tests: named.map(([, file = '', title = '']) => ({ file: `${file}`, title })) }
  })

const [, section = ''] = read('docs/interface.md').split(/^## Differences from the contract's letter$/m)
const differences = Array.from(section.split(/^## /m)[0]?.matchAll(/^(\d+)\. \*\*/gm) ?? [], ([, number]) => number)
const cited = rows.flatMap(({ verdict }) => Array.from(verdict.matchAll(/\d+/g), ([number]) => number))

test('every row has a number of its own and a verdict', () => {
  expect(rows.length).toBeGreaterThan(60)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  expect(rows.filter(({ verdict }) => !/^(conform|difference \d+(, \d+)*)$/.test(verdict))).toEqual([])
})

test('every difference that a row cites is listed in docs/interface.md, and every listed one is cited', () => {
  expect(differences.length).toBeGreaterThan(0)
  expect([...new Set(cited)].sort()).toEqual([...differences].sort())
})

describe.each(rows)('row $id', ({ tests }) => {
  test('names tests that exist', () => {
    expect(tests.length).toBeGreaterThan(0)
    expect(tests.filter(({ file, title }) => !existsSync(join(ROOT, file)) || !hasTest(read(file), title))).toEqual([])
  })
})

/** A title is the first argument of a call: `it('…', …)` or `it.each(…)('…', …)`. */
function hasTest(source: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => {
    const at = source.indexOf(`${quote}${title}${quote},`)
    return at > 0 && source.slice(0, at).trimEnd().endsWith('(')
  })
}
