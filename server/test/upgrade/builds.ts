/** The program of the first release, built from its commit, beside the program of this tree. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { removeFolder } from '../../../tools/remove-folder.ts'

/** The only place that names it. The next release replaces it by its own commit, and adds its migrations to released-migrations.ts. */
const FIRST_RELEASE = '573c3457f6f102f20f0d93bc133b043b8b3e35c2'

const ROOT = join(import.meta.dirname, '..', '..', '..')

export type Build = { readonly executable: string; readonly commit: string }

/** This tree, which is built already. */
export const CURRENT: Build = { executable: join(ROOT, 'server', 'dist', 'latchkey.js'), commit: 'this tree' }

/** The current build if the commit is not there, as in a shallow clone: then both sides are the same program. */
export function buildFirstRelease(): Build {
  const found = spawnSync('git', ['cat-file', '-e', `${FIRST_RELEASE}^{commit}`], { cwd: ROOT })
  if (found.status !== 0) return CURRENT
  const folder = join(ROOT, '.verify', 'builds', FIRST_RELEASE)
  if (!existsSync(folder)) build(folder)
  return { executable: join(folder, 'server', 'dist', 'latchkey.js'), commit: FIRST_RELEASE.slice(0, 8) }
}

/** Built beside its place and moved there when it is complete. */
function build(folder: string): void {
  const making = `${folder}.${process.pid}`
  mkdirSync(making, { recursive: true })
  const archive = execFileSync(
    'git',
    ['archive', FIRST_RELEASE, 'server', 'sdk', 'cli', 'package.json', 'tsconfig.base.json'],
    {
      cwd: ROOT,
      maxBuffer: 1 << 28,
    },
  )
  execFileSync('tar', ['-x', '-C', making], { input: archive })
  linkPackages(making)
  execFileSync('npm', ['run', '-s', 'build', '--workspace', 'sdk'], { cwd: making, stdio: 'ignore' })
  execFileSync(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'server'], {
    cwd: making,
  })
  if (existsSync(folder)) removeFolder(making)
  else renameSync(making, folder)
}

/** Packages of this tree, except those of the workspace, which are its own. */
function linkPackages(folder: string): void {
  const [from, to] = [join(ROOT, 'node_modules'), join(folder, 'node_modules')]
  mkdirSync(join(to, '@latchkey'), { recursive: true })
  for (const name of readdirSync(from)) if (name !== '@latchkey') symlinkSync(join(from, name), join(to, name))
  for (const name of ['sdk', 'server', 'cli']) symlinkSync(join('..', '..', name), join(to, '@latchkey', name))
}
