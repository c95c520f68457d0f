/**
 * `npm run verify -- install`: installs Latchkey in every documented way, with the commands of docs/install.md, and grants a device access with
 * each. What differs from the document is printed. Needs root and Debian's packages docker.io, docker-compose, mmdebstrap and
 * prometheus. All files are in .verify/install; services are reached through loopback interfaces only.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runCompose } from './install/compose.ts'
import { buildImage, runContainer } from './install/container.ts'
import { type Engine, removeEngine, startEngine } from './install/engine.ts'
import { installProgram, runOneMachine } from './install/one-machine.ts'
import { checkChart, checkPrometheus } from './install/other-files.ts'
import { begin, summary, time } from './install/report.ts'
import { IMAGES, makeImages, makeRoots } from './install/stand-ins.ts'
import { removeFolder } from './remove-folder.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, '.verify/install')
const ENGINE = join(FOLDER, 'engine')
const CLONE = join(FOLDER, 'latchkey')
const CONTEXT = join(FOLDER, 'images')

const COMPOSE_ROUNDS = 5
const GOAL_SECONDS = 15 * 60

const PROGRAMS: Readonly<Record<string, string>> = {
  docker: 'docker.io',
  dockerd: 'docker.io',
  'docker-compose': 'docker-compose',
  mmdebstrap: 'mmdebstrap',
  promtool: 'prometheus',
}

let engine: Engine | undefined
const begun = performance.now()
try {
  needPrograms()
  removeFiles()
  if (git('status', '--porcelain') !== '') console.log('Uncommitted changes of the program are not verified.')
  git('clone', '--quiet', ROOT, CLONE)
  console.log(`commit ${git('rev-parse', '--short', 'HEAD')}, ${new Date().toISOString()}, Node ${process.version}`)

  begin('base images')
  for (const [name, what] of IMAGES) console.log(`           instead of "${name}": ${what}`)
  await makeRoots(join(FOLDER, 'roots'))
  engine = await time('the engine starts', () => startEngine(ENGINE, 'machine', CLONE))
  await makeImages(engine.shell, join(FOLDER, 'roots'), CONTEXT)

  begin('container')
  const commands = await buildImage(engine.shell)
  begin('one machine')
  await installProgram(engine.shell, CLONE)

  await engine.stop()
  begin('container')
  engine = await time('the engine starts again, without a way out', () => startEngine(ENGINE, 'own', CLONE))
  const metrics = await runContainer(engine.shell, CLONE, commands)
  begin('compose')
  await runCompose(engine.shell, CLONE, COMPOSE_ROUNDS)
  begin('one machine')
  await runOneMachine(engine.shell)
  begin('prometheus')
  await checkPrometheus(metrics)
  begin('chart')
  await checkChart()

  console.log(`\npassed in ${summary()}`)
  if (performance.now() - begun > GOAL_SECONDS * 1000) throw new Error(`it took longer than ${GOAL_SECONDS} s`)
} catch (error) {
  console.error(`FAILED: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  await cleanUp()
}

async function cleanUp(): Promise<void> {
  if (engine) {
    await engine.shell('docker ps --all --quiet | xargs --no-run-if-empty docker rm --force --volumes').catch(() => {})
    await engine.stop()
  }
  removeFiles()
}

function removeFiles(): void {
  removeEngine(ENGINE)
  for (const each of [CLONE, CONTEXT]) removeFolder(each)
}

function needPrograms(): void {
  if (process.getuid?.() !== 0) throw new Error('a container engine needs root')
  const missing = Object.entries(PROGRAMS).filter(([name]) => spawnSync('which', [name]).status !== 0)
  if (missing.length === 0) return
  const packages = new Set(missing.map(([, name]) => name))
  throw new Error(`missing programs; run: apt-get install --no-install-recommends ${[...packages].join(' ')}`)
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
