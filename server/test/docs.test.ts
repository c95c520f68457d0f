/** Generated documents match the sources, and code in documents runs. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fillFigures } from '../../bench/figures.ts'
import { documents } from '../../tools/docs.ts'
import { fillSamples, findSampled } from '../../tools/samples.ts'
import { SCREENSHOTS, shownScreenshots } from '../../tools/shown-screenshots.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const DOCS = join(ROOT, 'docs')
const read = (name: string) => readFileSync(join(DOCS, name), 'utf8')

test.each(Object.entries(documents))('docs/%s is what "npm run docs" writes', (name, render) => {
  expect(read(name)).toBe(render())
})

test.each(findSampled())('%s shows its samples as they are in their files', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8')
  expect(text).toBe(fillSamples(text))
})

test('docs/performance.md shows the figures of bench/baseline.json', () => {
  const text = read('performance.md')
  expect(text).toBe(fillFigures(text))
  expect(text).toMatch(/^\| Pending poll, gate in Redis \|.*\| 0\.\d+ \| 0\.\d+ \|$/m)
})

describe('whoever follows the pages about installing', () => {
  const pages = ['docs/install.md', 'deploy/container/Dockerfile', 'deploy/compose.yaml']

  test.each(pages)('%s: writes a key into a file that nobody else can read', (path) => {
    const blocks = readFileSync(join(ROOT, path), 'utf8').split('```')
    const writing = blocks.filter((block) => /key create\b.*>/.test(block))
    expect(writing.length).toBeGreaterThan(0)
    expect(writing.filter((block) => !/umask 077[\s\S]*?key create\b.*>/.test(block))).toEqual([])
  })

  test('runs the service in a folder without .git', () => {
    const commands = Array.from(read('install.md').matchAll(/^git .*$/gm), ([command]) => command)
    expect(commands).toEqual(['git clone … latchkey', expect.stringContaining(' archive ')])
    const [, archive = ''] = commands
    const listing = archive.replace('-C latchkey', `-C ${ROOT}`).replace('tar -x -C /opt', 'tar -t')
    const { stdout, status } = spawnSync('sh', ['-c', listing], { encoding: 'utf8' })
    const names = stdout.split('\n')
    expect([status, names.includes('latchkey/package-lock.json')]).toEqual([0, true])
    expect(names.filter((name) => name.startsWith('latchkey/.git/'))).toEqual([])
  })
})

test.each(readdirSync(join(DOCS, 'guides')))('every piece of code in docs/guides/%s is a sample', (name) => {
  const text = read(join('guides', name))
  // Terminal output, answers of the service and diagrams are not code.
  const fences = Array.from(text.matchAll(/^(.*)\n\n```(\w*)\n[\s\S]*?\n```$/gm), ([, above, language]) => ({
    above,
    language,
  }))
  const code = fences.filter(({ language }) => !['text', 'json', 'console', 'mermaid'].includes(language ?? ''))
  expect(code.filter(({ above }) => !above?.startsWith('<!-- sample: '))).toEqual([])
})

test('every command of docs/first-hour.md is one of the README’s, which "npm run verify -- first-hour" runs word for word', () => {
  const blocksOf = (text: string) =>
    Array.from(text.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block = '']) => block.trim().split('\n'))
  const known = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8')).flat()
  const commands = blocksOf(read('first-hour.md')).flat()
  expect(commands.length).toBeGreaterThan(4)
  expect(commands.filter((command) => !known.includes(command))).toEqual([])
})

test('every attack that docs/security.md names has a test', () => {
  const tests = readdirSync(join(ROOT, 'server', 'test'), { recursive: true, encoding: 'utf8' })
  const tried = tests
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, 'server', 'test', name), 'utf8'))
    .join('\n')
  const ids = expandIds(read('security.md'))
  expect(ids).not.toEqual([])
  expect(ids.filter((id) => !tried.includes(id))).toEqual([])
})

/** `DG-01 to DG-03` are three. */
function expandIds(text: string): string[] {
  const found = text.matchAll(/\b([A-Z]{2})-(\d\d)(?: to [A-Z]{2}-(\d\d))?/g)
  return Array.from(found, ([, family, from, to = from]) =>
    Array.from(
      { length: Number(to) - Number(from) + 1 },
      (_each, index) => `${family}-${String(Number(from) + index).padStart(2, '0')}`,
    ),
  ).flat()
}

test('docs/openapi.yaml and docs/openapi-management.yaml follow every recommended rule of their linter', {
  timeout: 60_000,
}, () => {
  const { status, stdout, stderr } = spawnSync(
    'npx',
    ['redocly', 'lint', 'docs/openapi.yaml', 'docs/openapi-management.yaml'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  )
  expect(stderr + stdout).not.toMatch(/warning/i)
  expect(status, stderr + stdout).toBe(0)
})

test('docs/screenshots/ holds the pictures that the documentation shows, and no other', () => {
  const shown = shownScreenshots()
  expect(readdirSync(SCREENSHOTS).sort()).toEqual(shown)
  expect(shown.length).toBeGreaterThan(0)
  expect(shown.length).toBeLessThanOrEqual(20)
})

test('README.md has at most 150 lines', () => {
  expect(
    readFileSync(join(DOCS, '..', 'README.md'), 'utf8')
      .trimEnd()
      .split('\n').length,
  ).toBeLessThanOrEqual(150)
})
