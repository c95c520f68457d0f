/** The pages of docs/security/ are complete, and what they name exists. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../src/secrets/keyset.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'docs', 'security')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

/** Cells of all rows of a page's tables that begin with such a cell. */
function rowsOf(page: string, first: RegExp): string[][] {
  const lines = read(page).split('\n')
  const rows = lines.map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  return rows.filter(([before, cell = '']) => before === '' && first.test(cell)).map((row) => row.slice(1, -1))
}

describe('docs/security/asvs.md', () => {
  /** ASVS 5.0.0: the levels of the requirements of a section, in the order of their numbers. */
  const LEVELS: Readonly<Record<string, string>> = {
    '1.1': '22',
    '1.2': '1111122223',
    '1.3': '112222222223',
    '1.4': '222',
    '1.5': '123',
    '2.1': '122',
    '2.2': '112',
    '2.3': '12223',
    '2.4': '23',
    '3.2': '113',
    '3.3': '12223',
    '3.4': '11222233',
    '3.5': '11122333',
    '3.7': '22333',
    '4.1': '12233',
    '4.2': '23333',
    '4.3': '22',
    '4.4': '1222',
    '5.1': '2',
    '5.2': '112333',
    '5.3': '113',
    '5.4': '222',
    '6.1': '122',
    '6.2': '111111112222',
    '6.3': '11223333',
    '6.4': '112233',
    '6.5': '22222333',
    '6.6': '2223',
    '6.8': '2222',
    '7.1': '222',
    '7.2': '1111',
    '7.3': '22',
    '7.4': '11222',
    '7.5': '223',
    '7.6': '22',
    '8.1': '1233',
    '8.2': '1123',
    '8.3': '133',
    '8.4': '23',
    '9.1': '111',
    '9.2': '1222',
    '10.1': '22',
    '10.2': '223',
    '10.3': '22223',
    '10.4': '1111122222233333',
    '10.5': '22222',
    '10.6': '22',
    '10.7': '222',
    '11.1': '2233',
    '11.2': '22233',
    '11.3': '11233',
    '11.4': '1222',
    '11.5': '23',
    '11.6': '23',
    '12.1': '12233',
    '12.2': '11',
    '12.3': '22223',
    '13.1': '2333',
    '13.2': '222223',
    '13.3': '2233',
    '13.4': '1222233',
    '14.1': '22',
    '14.2': '12223333',
    '14.3': '122',
    '15.1': '12233',
    '15.2': '12233',
    '15.3': '1222222',
    '16.1': '2',
    '16.2': '22222',
    '16.3': '2222',
    '16.4': '222',
    '16.5': '2223',
    '17.1': '23',
    '17.2': '22223333',
    '17.3': '22',
  }
  const required = Object.entries(LEVELS).flatMap(([section, levels]) =>
    Array.from(levels, (level, index) => [`${section}.${index + 1}`, level]).filter(([, level]) => level !== '3'),
  )

  const STATES = ['met', 'partly', 'not met', 'not applicable']
  const requirements = rowsOf('asvs.md', /^\d+\.\d+\.\d+$/).map(
    ([id = '', level = '', summary = '', state = '', shown = '']) => ({ id, level, summary, state, shown }),
  )
  const linksIn = (text: string) => Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, to = '']) => to)
  /** `signing-in.test.ts: WB-08`: a file by its name, with its folder where another has the same name, and a part of its text. */
  const filesIn = (text: string) =>
    Array.from(
      text.matchAll(/`([\w./-]+\.(?:tsx?|json|conf|cfg)|[\w/]*Caddyfile)(?:: ([^`]+))?`/g),
      ([, name = '', part = '']) => ({
        name,
        part,
      }),
    )

  test('lists the 253 requirements of Levels 1 and 2, in their order', () => {
    expect(required).toHaveLength(253)
    expect(requirements.map(({ id, level }) => [id, level])).toEqual(required)
  })

  test('gives each one of four states, and counts them', () => {
    expect(requirements.filter(({ state }) => !STATES.includes(state))).toEqual([])
    const counted = STATES.map((state) => [state, String(requirements.filter((each) => each.state === state).length)])
    expect(rowsOf('asvs.md', /^(met|partly|not met|not applicable|all)$/)).toEqual([...counted, ['all', '253']])
  })

  test('calls not met only what the contract or the nature of the product excludes', () => {
    const unmet = requirements.filter(({ state }) => state === 'not met')
    expect(unmet.map(({ id }) => id)).toEqual(['5.4.3', '10.4.6', '14.2.1'])
    expect(unmet.filter(({ shown }) => !/ Instead[:,] /.test(shown))).toEqual([])
  })

  test('names what is missing wherever something is', () => {
    const open = requirements.filter(({ state }) => state === 'partly' || state === 'not met')
    expect(open.filter(({ shown }) => !/^Missing: \S.{10,}/.test(shown))).toEqual([])
    expect(requirements.filter((each) => !open.includes(each) && /\bMissing\b/.test(each.shown))).toEqual([])
  })

  test('shows what is met by a file, and says why something is not applicable', () => {
    const met = requirements.filter(({ state }) => state === 'met')
    expect(met.filter(({ shown }) => linksIn(shown).length + filesIn(shown).length === 0)).toEqual([])
    const other = requirements.filter(({ state }) => state === 'not applicable')
    expect(other.filter(({ shown }) => shown.length < 10)).toEqual([])
  })

  test('names files that exist, and tests that are in them', () => {
    const every = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
    const named = requirements.flatMap(({ id, shown }) => filesIn(shown).map((file) => ({ id, ...file })))
    expect(named.length).toBeGreaterThan(250)
    const wrong = named.filter(({ name, part }) => {
      const found = every.filter((file) => file === name || file.endsWith(`/${name}`))
      return !found.some((file) => readFileSync(join(ROOT, file), 'utf8').includes(part))
    })
    expect(wrong).toEqual([])
  })

  test('links to pages and headings that exist', () => {
    const links = requirements.flatMap(({ id, shown }) => linksIn(shown).map((to) => ({ id, to })))
    expect(links.length).toBeGreaterThan(20)
    const wrong = links.filter(({ to }) => {
      const [path = '', anchor] = to.split('#')
      const file = join(FOLDER, path)
      return !existsSync(file) || (anchor !== undefined && !headingsOf(readFileSync(file, 'utf8')).includes(anchor))
    })
    expect(wrong).toEqual([])
  })
})

/** As a browser addresses them: `## The log` is #the-log. */
function headingsOf(markdown: string): string[] {
  return Array.from(markdown.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('docs/security/cryptography.md names every purpose of a key', () => {
  const { signing } = parseKeyset(createKey(1)) as Keyset
  const named = rowsOf('cryptography.md', /^`[a-z-]+`$/).map(([purpose = '']) => purpose.slice(1, -1))
  expect(Object.keys(signing.for).filter((purpose) => !named.includes(purpose))).toEqual([])
})

test('docs/security/data.md gives everything one of its four levels', () => {
  const levels = rowsOf('data.md', /^\*\*\w+\*\*$/).map(([level = '']) => level.slice(2, -2).toLowerCase())
  expect(levels).toEqual(['secret', 'personal', 'confidential', 'public'])
  const [, data = ''] = read('data.md').split('## Data\n')
  const given = Array.from(data.split('\n## ')[0]?.matchAll(/^\| [^|]+ \| (\w+) +\|/gm) ?? [], ([, level]) => level)
  expect(given.length).toBeGreaterThan(12)
  expect(given.filter((level) => level !== 'Level' && !levels.includes(level ?? ''))).toEqual([])
})
