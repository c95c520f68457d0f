/** The npm package, and the README's programs compiled with it. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { expect, onTestFinished, test } from 'vitest'
import { ERROR_CODES } from '../../src/index.ts'
import { packedSdk } from '../rig/packed.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..', '..')
const packed = join(await packedSdk(), 'node_modules', '@latchkey', 'sdk')
const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'))
const readme = readFileSync(join(packed, 'README.md'), 'utf8')

type Entry = string | { readonly types: string; readonly default: string }

test('the package is dist, a manifest, a licence and a README, and depends on nothing', () => {
  expect(readdirSync(packed).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
  expect(
    readdirSync(join(packed, 'dist'), { recursive: true }).filter((name) => /\.test\.|tsconfig/.test(`${name}`)),
  ).toEqual([])
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
    expect(manifest[kind]).toBeUndefined()
})

test('publint reports nothing', async () => {
  const { messages } = await publint({ pkgDir: packed, pack: false, strict: true })
  expect(messages).toEqual([])
})

test('every entry has a module, its types and its source map', () => {
  for (const entry of Object.values<Entry>(manifest.exports)) {
    const files = typeof entry === 'string' ? [entry] : [entry.default, entry.types, `${entry.default}.map`]
    expect(files.filter((file) => !existsSync(join(packed, file)))).toEqual([])
  }
})

test('the README names every entry and every code', () => {
  const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json')
  expect(entries.filter((entry) => !readme.includes(`\`@latchkey/sdk${entry.slice(1)}\``))).toEqual([])
  expect(ERROR_CODES.filter((code) => !readme.includes(`\`${code}\``))).toEqual([])
})

test.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])(
  'the programs of the README compile, with modules %s resolved by %s',
  async (module, moduleResolution) => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-readme-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await cp(join(packed, '..', '..'), join(folder, 'node_modules'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
    await symlink(join(ROOT, 'node_modules', 'undici-types'), join(folder, 'node_modules', 'undici-types'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const compilerOptions = {
      ...{ module, moduleResolution, target: 'es2023', lib: ['es2023', 'dom'], types: ['node'] },
      ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true },
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    const programs = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, program = '']) => program)
    expect(programs.length).toBeGreaterThan(5)
    for (const [index, program] of programs.entries()) await writeFile(join(folder, `program-${index}.ts`), program)
    const { stdout } = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', folder]).catch((error) => error)
    expect(stdout).toBe('')
  },
  60_000,
)
