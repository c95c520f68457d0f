/** The pages of docs/audit/ name what exists. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../src/secrets/keyset.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'docs', 'audit')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

/** Cells of all rows of a page's tables that begin with such a cell. */
function rowsOf(page: string, first: RegExp): string[][] {
  const lines = read(page).split('\n')
  const rows = lines.map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  return rows.filter(([before, cell = '']) => before === '' && first.test(cell)).map((row) => row.slice(1, -1))
}

describe('docs/audit/asvs.md', () => {
  const STATES = ['met', 'partly', 'not met', 'not applicable']
  const requirements = rowsOf('asvs.md', /^\d+\.\d+\.\d+$/).map(([id = '', , , state = '', shown = '']) => ({
    id,
    state,
    shown,
  }))
  /** `signing-in.test.ts: WB-08`: a file by its name, with its folder where another has the same name, and a part of its text. */
  const filesIn = (text: string) =>
    Array.from(
      text.matchAll(/`([\w./-]+\.(?:tsx?|json|conf|cfg)|[\w/]*Caddyfile)(?:: ([^`]+))?`/g),
      ([, name = '', part = '']) => ({
        name,
        part,
      }),
    )

  test('gives each one of four states, and counts them', () => {
    expect(requirements.filter(({ state }) => !STATES.includes(state))).toEqual([])
    const counted = STATES.map((state) => [state, String(requirements.filter((each) => each.state === state).length)])
    const all = ['all', String(requirements.length)]
    expect(rowsOf('asvs.md', /^(met|partly|not met|not applicable|all)$/)).toEqual([...counted, all])
  })

  test('shows what is met by a file or a page', () => {
    const met = requirements.filter(({ state }) => state === 'met')
    expect(met.filter(({ shown }) => !shown.includes('](') && filesIn(shown).length === 0)).toEqual([])
  })

  test('names files that exist, and tests that are in them', () => {
    const every = globSync(['**/*.{ts,tsx,json,conf,cfg}', '**/{*.,}Caddyfile'], {
      cwd: ROOT,
      exclude: ['**/node_modules', '**/dist'],
    })
    const named = requirements.flatMap(({ id, shown }) => filesIn(shown).map((file) => ({ id, ...file })))
    expect(named).not.toEqual([])
    const wrong = named.filter(({ name, part }) => {
      const found = every.filter((file) => file === name || file.endsWith(`/${name}`))
      return !found.some((file) => readFileSync(join(ROOT, file), 'utf8').includes(part))
    })
    expect(wrong).toEqual([])
  })
})

test('docs/audit/cryptography.md names every purpose of a key', () => {
  const { signing } = parseKeyset(createKey(1)) as Keyset
  const named = rowsOf('cryptography.md', /^`[a-z-]+`$/).map(([purpose = '']) => purpose.slice(1, -1))
  expect(Object.keys(signing.for).filter((purpose) => !named.includes(purpose))).toEqual([])
})
