/** The house stands as ARCHITECTURE.md draws it: imports run down, the core is pure, files stay short. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const SRC = join(ROOT, 'server', 'src')

/** From the ground up. A room is a folder of server/src, or a file that stands there alone. */
const FLOORS = [
  ['core', 'secrets', 'events.ts', 'spans.ts', 'setting-texts.ts'],
  ['store', 'gate', 'pages', 'telemetry', 'mail.ts', 'outbound.ts', 'geoip.ts', 'dns.ts', 'config.ts'],
  ['flows'],
  ['http', 'cli', 'jobs'],
  ['app.ts'],
  ['latchkey.ts'],
]
const roomOf = (file: string) => file.split('/')[0] ?? ''
const floorOf = (file: string) => FLOORS.findIndex((rooms) => rooms.includes(roomOf(file)))

function sourcesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /\.tsx?$/.test(name) && !/(^|\/)(node_modules|dist)\//.test(name)).sort()
}

const files = sourcesIn(SRC)
/** Without comments, which may speak of anything. */
const codeOf = (file: string) => readFileSync(join(SRC, file), 'utf8').replace(/\/\*.*?\*\/|(?<=^|\s)\/\/.*?$/gms, '')

type Import = { readonly target: string; readonly typeOnly: boolean }

function importsOf(file: string): Import[] {
  const found = codeOf(file).matchAll(/\b(?:import|export)\b\s*(type\b)?[^'"`;=]*?['"](\.\.?\/[^'"]+)['"]/g)
  return Array.from(found, ([, type, path = '']) => ({
    target: normalize(join(dirname(file), path)),
    typeOnly: type !== undefined,
  }))
}

function mayImport(from: string, to: string): boolean {
  if (roomOf(from) === roomOf(to) || (roomOf(from) === 'secrets' && roomOf(to) === 'core')) return true
  return floorOf(to) < floorOf(from)
}

/** The way from a file back to itself, if there is one. */
function cycleFrom(file: string, path: readonly string[], finished: Set<string>): readonly string[] | null {
  if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
  if (finished.has(file)) return null
  for (const { target } of importsOf(file).filter(({ typeOnly }) => !typeOnly)) {
    const cycle = cycleFrom(target, [...path, file], finished)
    if (cycle) return cycle
  }
  finished.add(file)
  return null
}

describe('the floors', () => {
  test('every file is in a room, and every import of another file was understood', () => {
    expect(files.filter((file) => floorOf(file) === -1)).toEqual([])
    expect(
      files.flatMap(importsOf).filter(({ target }) => !files.includes(target) && !target.endsWith('.json')),
    ).toEqual([])
    expect(new Set(importsOf('app.ts').map(({ target }) => floorOf(target)))).toEqual(new Set([0, 1, 2, 3]))
  })

  test('imports only run down, and rooms on one floor do not know each other', () => {
    const imports = files.flatMap((file) => importsOf(file).map(({ target }) => [file, target] as const))
    expect(imports.filter(([from, to]) => !mayImport(from, to))).toEqual([])
  })

  test('no file imports itself by way of others, once types are erased', () => {
    const finished = new Set<string>()
    expect(files.map((file) => cycleFrom(file, [], finished)).filter((cycle) => cycle !== null)).toEqual([])
  })
})

test('core/ has no await, clock, randomness or I/O', () => {
  const impure = /\b(await|async|Date|performance|Math\.random|crypto|process|fetch|setTimeout)\b|['"]node:/
  expect(files.filter((file) => roomOf(file) === 'core' && impure.test(codeOf(file)))).toEqual([])
})

test('only config.ts reads the environment', () => {
  expect(files.filter((file) => /\bprocess\s*(\.\s*env\b|\[)/.test(codeOf(file)))).toEqual(['config.ts'])
})

test('only the command line uses the client library, as anybody else would', () => {
  expect(files.filter((file) => roomOf(file) !== 'cli' && /['"]@latchkey\/sdk/.test(codeOf(file)))).toEqual([])
  expect(files.filter((file) => /['"][./]*\bsdk\//.test(codeOf(file)))).toEqual([])
})

test('events are recorded in one place, which also queues what webhooks tell of them', () => {
  expect(files.filter((file) => /insert into audit_events/.test(codeOf(file)))).toEqual(['store/audit/events.ts'])
})

test('every file has a name of its own, in kebab-case', () => {
  const vague = /(^|\/)(utils?|helpers?|common|shared|lib|misc|types|interfaces|managers?|services?|index)(\/|\.tsx?$)/
  expect(files.filter((file) => vague.test(file) || !/^[a-z0-9/.-]+$/.test(file))).toEqual([])
})

test.each(['server/src', 'server/test', 'sdk', 'tools', 'bench', 'examples'])(
  'no file in %s has more than 400 lines',
  (folder) => {
    const linesOf = (file: string) =>
      readFileSync(join(ROOT, folder, file), 'utf8')
        .trimEnd()
        .split('\n').length
    expect(sourcesIn(join(ROOT, folder)).filter((file) => linesOf(file) > 400)).toEqual([])
  },
)
