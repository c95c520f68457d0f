/**
 * `npm run verify -- first-hour`: clones the repository into an empty folder and executes "Try it" of the README word by word, with a
 * simulated user in a real browser who sets a password, enters codes and grants them. Passes if the devices were granted access, one of them
 * an application that uses only the packed client library. Prints the duration of each step.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { startChromium } from '../server/test/rig/browser/chromium.ts'
import { createFirstPerson, type FirstPerson } from './first-person.ts'
import { freePort, isFree } from './free-port.ts'
import { type Command, createFilling, readSteps } from './readme-steps.ts'
import { removeFolder } from './remove-folder.ts'
import { type Running, runInShell } from './terminal.ts'

const ROOT = join(import.meta.dirname, '..')
const GOAL_SECONDS = 300
const STOP = 'npm run engines -- --stop'

/** Generated folders, which are not part of a clone. */
const GENERATED_FOLDERS = ['.git', '.engines', '.site', '.verify', 'dist', 'node_modules']

/** Commands that keep running, with the output that shows that they are ready. */
const STAYING: Readonly<Record<string, RegExp>> = {
  'npm run dev': /Ctrl-C ends the server/,
  'npm run example television': /The television is on: (\S+)/,
}

type Timed = { readonly step: string; readonly seconds: number; readonly download: boolean }
const times: Timed[] = []
async function time<T>(step: string, work: () => Promise<T> | T, download = false): Promise<T> {
  const from = performance.now()
  const result = await work()
  const seconds = (performance.now() - from) / 1000
  times.push({ step, seconds, download })
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${step}${download ? '  (downloads)' : ''}`)
  return result
}

const folder = mkdtempSync(join(tmpdir(), 'latchkey-first-hour-'))
// PostgreSQL, which root runs as another user, needs access to its files in this folder.
chmodSync(folder, 0o755)
const clone = join(folder, 'latchkey')
const running: Running[] = []
const filling = createFilling()
const granted: string[] = []
let enginesRun = false
process.once('exit', cleanUp)
const chromium = await startChromium()
try {
  await time('git clone', takeClone)
  const steps = readSteps(readFileSync(join(clone, 'README.md'), 'utf8'), 'Try it')
  const [servicePort, televisionPort] = [await portOr(8080), await portOr(4000)]
  const person = createFirstPerson(await chromium.open())

  for (const step of steps) {
    if (step.kind === 'file') {
      const path = join(clone, step.path)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, step.text)
      continue
    }
    const text = filling.fill(step.text).replaceAll('localhost:8080', `localhost:${servicePort}`)
    if (text === STOP) await time('Ctrl-C', () => interruptAll())
    if (text === 'npm run dev') enginesRun = true
    const ready = STAYING[text]
    if (ready) await stay(text, ready, person, text === 'npm run dev' ? servicePort : televisionPort)
    else await run(step, text, person)
    if (text === STOP) enginesRun = false
  }

  const downloads = sum(times.filter(({ download }) => download))
  const total = sum(times.filter(({ download }) => !download))
  console.log(`\n${granted.length} devices were granted access: ${granted.join(', ')}`)
  console.log(
    `${clock(total)} minutes in all, and ${clock(downloads)} minutes of downloads; the goal is ${clock(GOAL_SECONDS)}`,
  )
  if (granted.length < 3) throw new Error('The README describes three: the television, curl, and your own program.')
  if (total > GOAL_SECONDS) throw new Error('That took too long.')
} catch (error) {
  console.error(`FAILED: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  await chromium.close()
  await interruptAll()
}

/** Copies the folder if it is not a repository (an unpacked archive) or if git does not trust its owner. */
function takeClone(): void {
  try {
    if (git('status', '--porcelain') !== '') console.log('Uncommitted changes are not cloned and not verified.')
    git('clone', '--quiet', ROOT, clone)
  } catch {
    console.log('git cannot clone this folder; it is copied without generated folders.')
    cpSync(ROOT, clone, { recursive: true, filter: (source) => !GENERATED_FOLDERS.includes(basename(source)) })
  }
}

/** Cleans up in any case, also after Ctrl-C. */
function cleanUp(): void {
  for (const command of running) command.kill()
  if (enginesRun) spawnSync('bash', ['-c', STOP], { cwd: clone, env: environment() })
  removeFolder(folder)
}

/** Starts a command that keeps running, waits until it is ready and uses it. */
async function stay(text: string, ready: RegExp, person: FirstPerson, port: number): Promise<void> {
  const command = runInShell(text, clone, { ...environment(), PORT: String(port) })
  running.push(command)
  const said = await time(text, () => command.says(ready))
  filling.see(command.output())
  if (text === 'npm run dev') {
    const [link] = await command.says(/http:\S+\/link\?token=\S+/)
    await time('Ann chooses a password', () => person.choosePassword(link))
    return
  }
  const screen = await chromium.open()
  await time('the television is connected', async () => {
    await screen.goto(said[1] ?? '')
    await screen.getByRole('button', { name: 'Connect' }).click()
    await screen.locator('#code:not([hidden])').waitFor()
    const address = `http://${await screen.locator('#address').textContent()}`
    await person.beginAt(address, 'acme')
    await person.allow((await screen.locator('#digits').textContent()) ?? '')
    await screen.getByRole('heading', { name: 'Connected' }).waitFor({ timeout: 30_000 })
  })
  granted.push('the television')
}

/** Runs a command to its end, with placeholders filled in. If it shows a code, the code is granted. */
async function run(step: Command, text: string, person: FirstPerson): Promise<void> {
  const isDownload = text.startsWith('npm ci')
  const command = runInShell(text, clone, environment())
  running.push(command)
  const needsApproval = text.startsWith('node ')
  const status = await time(
    step.text,
    async () => {
      if (needsApproval) await person.allow((await command.says(/(\d{3} ){2}\d{3}/))[0])
      return command.ended
    },
    isDownload,
  )
  if (status !== 0) throw new Error(`"${text}" ended with ${status}:\n${command.output()}`)
  filling.see(command.output())
  if (step.sample) {
    const answer = JSON.parse(command.stdout())
    filling.compare(step.sample, answer)
    if ('access_token' in answer) granted.push('curl')
  }
  if (needsApproval) {
    if (!/account: 'acme'/.test(command.output())) throw new Error(`"${text}" ended with:\n${command.output()}`)
    granted.push('a program with the packed library')
  }
}

async function interruptAll(): Promise<void> {
  // Stops in reverse order.
  for (let last = running.at(-1); last; last = running.at(-1)) {
    await last.interrupt()
    running.pop()
  }
}

/** Environment of a fresh terminal, without variables of this repository or of npm. */
function environment(): NodeJS.ProcessEnv {
  const ours =
    /^(DATABASE_URL|REDIS_URL|PORT|INIT_CWD|NODE_OPTIONS|LATCHKEY_\w+|npm_(?!config_(registry|cache|userconfig)$)\w+)$/
  const kept = Object.entries(process.env).filter(([name]) => !ours.test(name))
  const path = (process.env.PATH ?? '').split(':').filter((each) => !each.endsWith('node_modules/.bin'))
  return { ...Object.fromEntries(kept), PATH: path.join(':'), npm_config_prefer_offline: 'true' }
}

/** The port of the README, or another one if it is in use. */
async function portOr(wanted: number): Promise<number> {
  if (await isFree(wanted)) return wanted
  const port = await freePort()
  console.log(`Port ${wanted} is in use; ${port} replaces ${wanted} of the README.`)
  return port
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

function sum(list: readonly Timed[]): number {
  return list.reduce((all, { seconds }) => all + seconds, 0)
}

function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, '0')}`
}
