/** Bundles the library's tests, the packed library and a small runner into one program for a runtime without vitest. */
import { join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { packedSdk } from '../rig/packed.ts'
import type { Service } from './real-service.ts'

const HERE = import.meta.dirname
const TESTS = join(HERE, '..')
const SOURCES = join(HERE, '..', '..', 'src')

type Where = {
  /** Whether it is for a page, or for a runtime that has what Node has. */
  readonly page: boolean
  /** Address of the server for real-service.ts. */
  readonly service?: Service
}

/** `files`: within sdk/test/. */
export async function bundleTests(files: readonly string[], { page, service }: Where): Promise<string> {
  const dist = join(await packedSdk(), 'node_modules', '@latchkey', 'sdk', 'dist')
  const { outputFiles } = await build({
    stdin: { contents: program(files), resolveDir: TESTS, loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform: page ? 'browser' : 'node',
    target: 'es2023',
    write: false,
    logLevel: 'error',
    define: {
      PACKED_NODE: JSON.stringify(pathToFileURL(join(dist, 'node', 'index.js')).href),
      SERVICE: JSON.stringify(service ?? null),
    },
    external: page ? [] : ['express', 'fastify', 'hono'],
    plugins: [stage(dist, page)],
  })
  return outputFiles[0]?.text ?? ''
}

function program(files: readonly string[]): string {
  const loads = files.map((file) => `  ${JSON.stringify(file)}: () => import('./${file}'),`)
  return `import { run } from 'vitest'\nexport const told = await run({\n${loads.join('\n')}\n})\n`
}

/** Replaces imports of the tests: the runner for vitest, and the packed library for its sources. */
const stage = (dist: string, page: boolean): Plugin => ({
  name: 'stage',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^vitest$/ }, () => ({ path: join(HERE, 'small-runner.ts') }))
    onResolve({ filter: /\/packed\.ts$/ }, () => ({
      path: join(HERE, page ? 'packed-in-a-page.ts' : 'packed-here.ts'),
    }))
    onResolve({ filter: /^@latchkey\/sdk/ }, ({ path }) => {
      return { path: join(dist, path === '@latchkey/sdk' ? 'index.js' : 'node/index.js') }
    })
    onResolve({ filter: /\/src\/.*\.ts$/ }, ({ path, resolveDir }) => {
      const source = join(resolveDir, path)
      if (!source.startsWith(SOURCES + sep)) return null
      return { path: join(dist, source.slice(SOURCES.length + 1).replace(/\.ts$/, '.js')) }
    })
    if (!page) return
    onResolve({ filter: /^node:timers\/promises$/ }, () => ({ path: join(HERE, 'timers-in-a-page.ts') }))
    onResolve({ filter: /^node:util$/ }, () => ({ path: join(HERE, 'inspect-in-a-page.ts') }))
  },
})
