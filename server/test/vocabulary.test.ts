/** Identifiers and file names use the terms of docs/glossary.md and of the field; these were replaced. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')

/** Each with its replacement. */
const REPLACED: Readonly<Record<string, string>> = {
  door: 'route',
  doors: 'routes',
  glimpse: 'status',
  knock: 'poll',
  mend: 'remedy',
  most: 'max',
  fewest: 'min',
  standing: 'status, state or severity',
  standings: 'grantCache',
  tally: 'usage',
  trouble: 'problem',
  unseal: 'verify',
  visitor: 'sessionUser',
  voice: 'format',
  why: 'reason',
  because: 'reason',
}

/** Limits are MAX_ and MIN_. */
const LIMIT = /^(LONGEST|LARGEST|SHORTEST|SMALLEST)_/

/** Words of an identifier: `pageRoutes` has page and routes, `MAX_BYTES` max and bytes. */
function wordsOf(identifier: string): string[] {
  return identifier
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase())
}

const replacedIn = (identifier: string) => wordsOf(identifier).filter((word) => word in REPLACED)

const files = execFileSync('git', ['ls-files', 'server/src', 'sdk/src', 'server/migrations'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')

test('no file is called by a word that was replaced', () => {
  expect(files.filter((file) => replacedIn(file).length > 0)).toEqual([])
})

/** Names that a file declares. Imported names are declared elsewhere. */
const DECLARED =
  /\b(?:const|let|function|class|type|interface|enum|readonly|create table|create index|add column)\s+([A-Za-z_$][\w$]*)/g

const COMMENT = /\/\*.*?\*\/|(?<=^|\s)(?:\/\/|--).*?$/gms

test('no declaration is called by a word that was replaced', () => {
  const found = files
    .filter((file) => /\.(tsx?|sql)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8').replace(COMMENT, '')
      return Array.from(text.matchAll(DECLARED), ([, name = '']) => name)
        .filter((name) => replacedIn(name).length > 0 || LIMIT.test(name))
        .map((name) => `${file}: ${name}`)
    })
  expect(found).toEqual([])
})

test('the glossary is in alphabetical order and gives one sentence for each term', () => {
  const rows = readFileSync(join(ROOT, 'docs', 'glossary.md'), 'utf8').matchAll(
    /^\| (?!Term|---)([^|]+) \| ([^|]+) \| [^|]+ \|$/gm,
  )
  const terms = Array.from(rows, ([, term = '', meaning = '']) => ({ term: term.trim(), meaning: meaning.trim() }))
  expect(terms.length).toBeGreaterThanOrEqual(25)
  expect(terms.map(({ term }) => term)).toEqual(terms.map(({ term }) => term).sort())
  expect(terms.filter(({ meaning }) => !/^[A-Z][^.]*(\.[^.\s][^.]*)*\.$/.test(meaning))).toEqual([])
})
