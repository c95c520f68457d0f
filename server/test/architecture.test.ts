/** The code has the structure of ARCHITECTURE.md: imports run down, the core is pure. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const SRC = join(ROOT, 'server', 'src')

/** From the lowest up. A module is a folder of server/src, or a file there. */
const LAYERS = [
  ['core', 'secrets', 'events.ts', 'spans.ts', 'setting-texts.ts', 'redis-url.ts', 'version.ts'],
  [
    'store',
    'gate',
    'pages',
    'pictures',
    'telemetry',
    'mail.ts',
    'outbound.ts',
    'geoip.ts',
    'host-service.ts',
    'dns.ts',
    'config.ts',
  ],
  ['flows'],
  ['http', 'cli', 'jobs'],
  ['processes'],
  ['app.ts'],
  ['latchkey.ts'],
]
const moduleOf = (file: string) => file.split('/')[0] ?? ''
const layerOf = (file: string) => LAYERS.findIndex((modules) => modules.includes(moduleOf(file)))

function sourcesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /\.tsx?$/.test(name) && !/(^|\/)(node_modules|dist)\//.test(name)).sort()
}

const files = sourcesIn(SRC)
/** Without comments. */
const codeOf = (file: string) => readFileSync(join(SRC, file), 'utf8').replace(/\/\*.*?\*\/|(?<=^|\s)\/\/.*?$/gms, '')

function importsOf(file: string): { readonly target: string }[] {
  const found = codeOf(file).matchAll(/\b(?:import|export)\b[^'"`;=]*?['"](\.\.?\/[^'"]+)['"]/g)
  return Array.from(found, ([, path = '']) => ({ target: normalize(join(dirname(file), path)) }))
}

function mayImport(from: string, to: string): boolean {
  if (moduleOf(from) === moduleOf(to) || (moduleOf(from) === 'secrets' && moduleOf(to) === 'core')) return true
  return layerOf(to) < layerOf(from)
}

describe('the layers', () => {
  test('every file belongs to a module, and every import of another file is resolved', () => {
    expect(files.filter((file) => layerOf(file) === -1)).toEqual([])
    expect(
      files.flatMap(importsOf).filter(({ target }) => !files.includes(target) && !target.endsWith('.json')),
    ).toEqual([])
    expect(new Set(importsOf('app.ts').map(({ target }) => layerOf(target)))).toEqual(new Set([0, 1, 2, 3, 4]))
  })

  test('imports only run down, and modules of one layer do not import each other', () => {
    const imports = files.flatMap((file) => importsOf(file).map(({ target }) => [file, target] as const))
    expect(imports.filter(([from, to]) => !mayImport(from, to))).toEqual([])
  })
})

test('core/ has no await, clock, randomness or I/O', () => {
  const impure = /\b(await|async|Date|performance|Math\.random|crypto|process|fetch|setTimeout)\b|['"]node:/
  expect(files.filter((file) => moduleOf(file) === 'core' && impure.test(codeOf(file)))).toEqual([])
})

test('only config.ts reads the environment, and the settings of the commands for users', () => {
  expect(files.filter((file) => /\bprocess\s*(\.\s*env\b|\[)/.test(codeOf(file)))).toEqual([
    'cli/client/client-settings.ts',
    'config.ts',
  ])
})

test('the commands for users are a package of their own: they import nothing of the server', () => {
  const ofUsers = files.filter((file) => file.startsWith('cli/client/'))
  const outside = ofUsers.flatMap(importsOf).filter(({ target }) => !target.startsWith('cli/client/'))
  expect(new Set(outside.map(({ target }) => target))).toEqual(new Set(['setting-texts.ts', 'version.ts']))
  const packages = ofUsers.flatMap((file) =>
    Array.from(codeOf(file).matchAll(/(?:from|import\() ?'((?:@[\w-]+\/)?[\w-]+)/g), ([, name = '']) => name),
  )
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'cli', 'package.json'), 'utf8'))
  const declared = Object.keys({ ...dependencies, ...optionalDependencies })
  expect([...new Set(packages.filter((name) => name !== 'node'))].sort()).toEqual(declared.sort())
})

test('the command line alone calls the management API without a key, in its own process', () => {
  const naming = (name: string) => files.filter((file) => new RegExp(`\\b${name}\\b`).test(codeOf(file)))
  expect(naming('COMMAND_LINE_CALLER')).toEqual([
    'flows/accounts/administrator.ts',
    'flows/accounts/set-up.ts',
    'http/manage/in-process.ts',
  ])
  expect(naming('BY_COMMAND_LINE').filter((file) => moduleOf(file) === 'http')).toEqual([])
  expect(files.filter((file) => importsOf(file).some(({ target }) => target === 'http/manage/in-process.ts'))).toEqual([
    'app.ts',
  ])
  expect(naming('callManagement').filter((file) => moduleOf(file) !== 'cli')).toEqual([
    'app.ts',
    'http/manage/in-process.ts',
    'latchkey.ts',
  ])
})

test('only the command line uses the client library, as a package', () => {
  expect(files.filter((file) => moduleOf(file) !== 'cli' && /['"]@latchkey\/sdk/.test(codeOf(file)))).toEqual([])
  expect(files.filter((file) => /['"][./]*\bsdk\//.test(codeOf(file)))).toEqual([])
})

test('events are recorded in one place, which also queues webhooks', () => {
  expect(files.filter((file) => /insert into audit_events/.test(codeOf(file)))).toEqual(['store/audit/events.ts'])
})

test('every file is named in kebab-case after its subject', () => {
  const vague = /(^|\/)(utils?|helpers?|common|shared|lib|misc|types|interfaces|managers?|services?|index)(\/|\.tsx?$)/
  expect(files.filter((file) => vague.test(file) || !/^[a-z0-9/.-]+$/.test(file))).toEqual([])
})

describe('ARCHITECTURE.md', () => {
  const named = Array.from(
    readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').matchAll(/`([^`\n]+)`/g),
    ([, name = '']) => name,
  )
  const sources = globSync('{server/{src,test,migrations},sdk/{src,test},tools}/**/*.{ts,tsx,sql}', { cwd: ROOT })
  const code = sources.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n')

  test('names files and folders that exist', () => {
    const paths = named.filter(
      (name) => /^[\w.-]+(\/[\w.-]+)*(\/|\.(tsx?|sql|md|json))$/.test(name) || name === '.ci/run',
    )
    const places = ['', 'server/', 'server/src/', 'sdk/src/']
    expect(paths).not.toEqual([])
    expect(paths.filter((path) => !places.some((place) => existsSync(join(ROOT, place, path))))).toEqual([])
  })

  test('names functions, tables and settings that exist', () => {
    const names = named.filter((name) => /^[A-Za-z_][\w.]*$/.test(name) && !/\.(tsx?|sql|md|json)$/.test(name))
    expect(names).not.toEqual([])
    expect(names.filter((name) => !new RegExp(`\\b${name.split('.').at(-1)}\\b`).test(code))).toEqual([])
  })
})
