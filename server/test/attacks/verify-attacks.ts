/**
 * Runs every test that names an attack of the catalogue, and says for how many of the attacks all of their tests passed.
 *
 *   npm run verify -- attacks           in the short forms that CI runs
 *   npm run verify -- attacks --full    at the sizes of the catalogue, which takes hours: each file and program alone. Begins none
 *                                       after 90 minutes, or --minutes N; called again on the same commit, it goes on where it stopped
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ATTACKS } from './catalogue.ts'
import { attacksByFile, attacksIn } from './titles.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FOLDER = join(ROOT, '.verify')
const REPORT = join(FOLDER, 'attacks.json')
const PROGRESS = join(FOLDER, 'attacks-full.json')

/** Of no attack, but it has a full size as well. */
const SIZED_TOO = ['server/test/conformance/credentials.test.ts']

/** Programs of their own, at the size of the catalogue. */
const PROGRAMS: readonly { readonly ids: readonly string[]; readonly command: readonly string[] }[] = [
  {
    ids: ['DC-01', 'DC-07'],
    command: [
      ...['races/verify-races.ts', '--codes', '10000', '--polls', '64'],
      ...['--decisions', '2000', '--processes', '4'],
    ],
  },
  { ids: ['TK-01', 'TK-02'], command: ['races/verify-refresh.ts', '--grants', '1000'] },
  { ids: ['RL-01', 'RL-02', 'RL-04'], command: ['model/verify-suspension.ts'] },
  { ids: ['WB-07'], command: ['scale/verify-stuffing.ts', '--full'] },
]

type Outcome = 'passed' | 'failed'

/** A test of an attack, or a program, and how it ended. */
type Result = { readonly id: string; readonly outcome: Outcome }

type Report = {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const { values } = parseArgs({
  options: { full: { type: 'boolean', default: false }, minutes: { type: 'string', default: '90' } },
})
mkdirSync(FOLDER, { recursive: true })
const files = [...attacksByFile().keys()]
const { passed, results } = values.full ? await runOneByOne() : await runTests(files, process.env)

const outcomes = new Map<string, Set<Outcome>>(Object.keys(ATTACKS).map((id) => [id, new Set()]))
for (const { id, outcome } of results) outcomes.get(id)?.add(outcome)
const ids = [...outcomes.keys()]
const without = ids.filter((id) => outcomes.get(id)?.size === 0)
const failed = ids.filter((id) => outcomes.get(id)?.has('failed'))
for (const id of without) console.log(`no test ran: ${id} ${ATTACKS[id]}`)
for (const id of failed) console.log(`failed:      ${id} ${ATTACKS[id]}`)
console.log(`attacks: ids=${ids.length} passed=${ids.length - without.length - failed.length}`)
process.exitCode = passed && without.length === 0 && failed.length === 0 ? 0 : 1

type Run = { readonly passed: boolean; readonly results: readonly Result[] }

async function runOneByOne(): Promise<Run> {
  const env = { ...process.env, FULL_SIZE: '1' }
  const units = [
    ...[...files, ...SIZED_TOO].map((file) => ({ name: file, run: () => runTests([file], env) })),
    ...PROGRAMS.map(({ ids, command }) => ({ name: command.join(' '), run: () => runProgram(ids, command) })),
  ]
  const progress = openProgress()
  const left: string[] = []
  const failing: Result[] = []
  for (const { name, run } of units) {
    if (progress.passed.has(name)) continue
    if (performance.now() > Number(values.minutes) * 60_000) {
      left.push(name)
      continue
    }
    const ended = await run()
    if (ended.passed) progress.add(name, ended.results)
    else {
      failing.push(...ended.results)
      left.push(name)
    }
  }
  const minutes = Math.round(performance.now() / 60_000)
  console.log(`attacks: passed ${units.length - left.length} of ${units.length} files and programs, ${minutes} minutes`)
  for (const name of left) console.log(`to be run again: ${name}`)
  if (left.length === 0) progress.end()
  return { passed: left.length === 0, results: [...[...progress.passed.values()].flat(), ...failing] }
}

async function runTests(files: readonly string[], env: NodeJS.ProcessEnv): Promise<Run> {
  rmSync(REPORT, { force: true })
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
  const status = await runNode([vitest, 'run', ...reporters, ...files], env)
  if (!existsSync(REPORT)) throw new Error('Vitest wrote no report')
  const report: Report = JSON.parse(readFileSync(REPORT, 'utf8'))
  const results = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .flatMap(({ fullName, status }) => {
      return attacksIn(fullName).map((id): Result => ({ id, outcome: status === 'passed' ? 'passed' : 'failed' }))
    })
  return { passed: status === 0, results }
}

async function runProgram(ids: readonly string[], [program = '', ...options]: readonly string[]): Promise<Run> {
  const tsx = join(ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs')
  const passed = (await runNode([tsx, join('server', 'test', program), ...options], process.env)) === 0
  return { passed, results: ids.map((id) => ({ id, outcome: passed ? 'passed' : 'failed' })) }
}

async function runNode(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  const [status] = await once(spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' }), 'close')
  return status
}

/** What has passed on this commit. */
function openProgress() {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  const kept = existsSync(PROGRESS) ? JSON.parse(readFileSync(PROGRESS, 'utf8')) : {}
  const passed = new Map<string, readonly Result[]>(kept.commit === commit ? Object.entries(kept.passed) : [])
  return {
    passed,
    add: (name: string, results: readonly Result[]) => {
      passed.set(name, results)
      writeFileSync(PROGRESS, JSON.stringify({ commit, passed: Object.fromEntries(passed) }))
    },
    end: () => rmSync(PROGRESS, { force: true }),
  }
}
