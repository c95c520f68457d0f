/** Compiles server/dist and sdk/dist when a source is newer, so that nothing tests or measures an old build. */
import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

export function buildIfStale(): void {
  if (isFresh('server/dist/latchkey.js', 'server') && isFresh('sdk/dist/index.js', 'sdk')) return
  execFileSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: 'inherit' })
}

/** Compares with folders as well, because one changes when a file in it is deleted. */
function isFresh(built: string, workspace: string): boolean {
  const sources = globSync(`${workspace}/{src/**,tsconfig.json}`, { cwd: ROOT })
  return Math.max(...sources.map(timeOf)) < timeOf(built)
}

const timeOf = (path: string) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
