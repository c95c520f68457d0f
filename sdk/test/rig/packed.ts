/**
 * The library as an application gets it: packed by npm, unpacked into a node_modules of its own, and resolved by its exports.
 * Built once per state of its sources, by the first process that needs it.
 */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const SDK = join(import.meta.dirname, '..', '..')
const TSC = join(SDK, '..', 'node_modules', '.bin', 'tsc')
const run = promisify(execFile)

/** A folder in which `import … from '@latchkey/sdk'` finds the packed library. */
export async function packedSdk(): Promise<string> {
  const folder = join(tmpdir(), `latchkey-sdk-${fingerprint()}`)
  if (existsSync(folder)) return folder
  const draft = `${folder}-${randomUUID()}`
  const [source, target] = [join(draft, 'source'), join(draft, 'node_modules', '@latchkey', 'sdk')]
  await mkdir(source, { recursive: true })
  await mkdir(target, { recursive: true })
  for (const file of ['LICENSE', 'package.json', 'README.md']) await cp(join(SDK, file), join(source, file))
  for (const project of ['.', 'src/node']) {
    const build = run(TSC, ['-p', join(SDK, project), '--outDir', join(source, 'dist')])
    await build.catch(({ stdout }) => Promise.reject(new Error(`the library does not build:\n${stdout}`)))
  }
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', draft], {
    cwd: source,
  })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(draft, filename), '-C', target, '--strip-components=1'])
  await rm(source, { recursive: true })
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }))
  return folder
}

/** Entries of the package's exports: `.`, `./node` and so on. */
export async function entryOf(
  path: '.' | './node' | './express' | './fastify' | './hono' | './testing',
): Promise<string> {
  const require = createRequire(join(await packedSdk(), 'application.js'))
  return pathToFileURL(require.resolve(join('@latchkey/sdk', path))).href
}

export async function importSdk(): Promise<typeof import('../../src/index.ts')> {
  return import(/* @vite-ignore */ await entryOf('.'))
}

export async function importNode(): Promise<typeof import('../../src/node/index.ts')> {
  return import(/* @vite-ignore */ await entryOf('./node'))
}

function fingerprint(): string {
  const sources = readdirSync(join(SDK, 'src'), { recursive: true, encoding: 'utf8' }).map((name) => `src/${name}`)
  const files = [
    ...sources.filter((name) => /\.(ts|json)$/.test(name)).sort(),
    'package.json',
    'tsconfig.json',
    'README.md',
  ]
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(SDK, file)))
  return hash.digest('hex').slice(0, 16)
}
