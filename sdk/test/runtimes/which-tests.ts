/** Files of sdk/test/pure/ by runtime: all of them, except for those in this table, each with its reason. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

type Left = { readonly outside: 'every runtime but Node 24' | 'Chromium'; readonly reason: string }

const LEFT: Readonly<Record<string, Left>> = {
  bundle: { outside: 'every runtime but Node 24', reason: 'makes bundles with esbuild' },
  package: { outside: 'every runtime but Node 24', reason: 'looks at the package with npm and a compiler' },
  'authorized-fetch': { outside: 'Chromium', reason: 'starts HTTP servers' },
  'file-store': { outside: 'Chromium', reason: 'tests `@latchkey/sdk/node`, on files' },
  middleware: { outside: 'Chromium', reason: 'starts servers of express and fastify' },
  wire: { outside: 'Chromium', reason: 'starts servers that break what they send' },
}

export type Chosen = { readonly everywhere: readonly string[]; readonly inChromium: readonly string[] }

export async function chooseTests(): Promise<Chosen> {
  const found = (await readdir(join(import.meta.dirname, '..', 'pure'))).filter((file) => file.endsWith('.test.ts'))
  const names = found.map((file) => file.slice(0, -'.test.ts'.length))
  const gone = Object.keys(LEFT).filter((name) => !names.includes(name))
  if (gone.length > 0) throw new Error(`there are no tests ${gone.join(', ')} any more`)
  const files = (keep: (left: Left | undefined) => boolean) =>
    names.filter((name) => keep(LEFT[name])).map((name) => `pure/${name}.test.ts`)
  return {
    everywhere: files((left) => left?.outside !== 'every runtime but Node 24'),
    inChromium: files((left) => left === undefined),
  }
}

/** For the log: files not run in Chromium, and why. */
export const reasons = Object.entries(LEFT).map(([name, { reason }]) => `${name} ${reason}`)
