/**
 * The file system of the container's last stage in a folder, built from its COPY lines without a container engine. Files of
 * earlier stages are taken from here: compiled files from `npm run build`, packages from `npm ci`.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { type Copy, copiesOf, isInContext, named, readDockerfile, type Stage } from '../rig/process/dockerfile.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const MADE_IN_STAGES: Readonly<Record<string, (path: string, target: string) => void>> = {
  build: (path, target) => cpSync(join(ROOT, path), target, { recursive: true }),
  packages: (_path, target) => copyPackages(target),
}

export function lastStage(): Stage {
  const stage = readDockerfile(readFileSync(join(ROOT, 'deploy/container/Dockerfile'), 'utf8')).at(-1)
  if (!stage) throw new Error('deploy/container/Dockerfile has no stage')
  return stage
}

/** Returns the folder in which the commands are started. */
export function layOut(stage: Stage, root: string): string {
  const workdir = named(stage, 'WORKDIR').at(-1)?.rest ?? '/'
  const inside = join(root, workdir)
  mkdirSync(inside, { recursive: true })
  for (const copy of copiesOf(stage)) lay(copy, workdir, inside)
  return inside
}

function lay({ from, sources, to }: Copy, workdir: string, inside: string): void {
  for (const source of sources) {
    // A file that is copied to a place with a slash at its end keeps its name.
    const target = join(inside, to.endsWith('/') ? join(to, basename(source)) : to)
    if (from !== null) {
      MADE_IN_STAGES[from]?.(relative(workdir, source), target)
      continue
    }
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    if (!isInContext(ignored, source)) throw new Error(`${source} is not in the build context`)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(ROOT, source), target, { recursive: true })
  }
}

type Locked = { readonly dev?: boolean; readonly link?: boolean; readonly resolved?: string }

/** Packages that `npm ci --omit=dev` would keep, links to our own packages as links. */
function copyPackages(target: string): void {
  const lock: { packages: Record<string, Locked> } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  for (const [path, { dev, link, resolved = '' }] of Object.entries(lock.packages)) {
    // Packages for other platforms are not here, and would not be in the container.
    if (!path.startsWith('node_modules/') || dev || !existsSync(join(ROOT, path))) continue
    const place = join(dirname(target), path)
    mkdirSync(dirname(place), { recursive: true })
    if (link) symlinkSync(relative(dirname(place), join(dirname(target), resolved)), place)
    else cpSync(join(ROOT, path), place, { recursive: true, filter: (file) => !isPackageBelow(file, join(ROOT, path)) })
  }
}

/** Packages within packages have entries of their own. */
function isPackageBelow(file: string, packageFolder: string): boolean {
  return relative(packageFolder, file).split('/')[0] === 'node_modules'
}
