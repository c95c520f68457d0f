/**
 * Runs every test and command that docs/reliability.md names, and says for each fault whether all of them passed.
 *
 *   npm run verify -- faults                  tests, and commands in their short forms
 *   npm run verify -- faults --full           everything at full size, which takes hours
 *   npm run verify -- faults --ids F31,F32    only these faults
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Fault, FORMS, faultsIn, IDS, readTable } from './catalogue.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const REPORT = join(ROOT, '.verify', 'faults.json')
/** Engines that go away and come back under load: several faults at once, and none of them alone. */
const OUTAGES = 'outages'

type Outcome = 'passed' | 'failed' | 'only with --full'

type Report = {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string
      readonly title: string
      readonly ancestorTitles: readonly string[]
    }[]
  }[]
}

const { values } = parseArgs({ options: { full: { type: 'boolean', default: false }, ids: { type: 'string' } } })
const ids = values.ids?.split(',') ?? IDS
const faults = readTable().filter(({ id }) => ids.includes(id))
const outcomes = new Map<string, Outcome[]>(ids.map((id) => [id, []]))

await runTests(faults.flatMap((fault) => fault.files))
for (const command of new Set(faults.flatMap((fault) => fault.commands))) {
  const { short = null, full = [] } = FORMS[command] ?? {}
  const args = values.full ? full : short
  const outcome = args ? await runCommand(command, args) : 'only with --full'
  for (const fault of faults.filter(({ commands }) => commands.includes(command))) record(fault.id, outcome)
}
const outages = values.ids ? 'passed' : await runCommand(OUTAGES, [])

const named = new Map<string, Fault>(faults.map((fault) => [fault.id, fault]))
for (const id of ids) console.log(`${id} ${verdictOf(id).padEnd(16)} ${named.get(id)?.fault ?? ''}`)
const verdicts = ids.map(verdictOf)
console.log(`faults: ids=${ids.length} passed=${verdicts.filter((verdict) => verdict === 'passed').length}`)
const bad = verdicts.filter((verdict) => verdict === 'failed' || verdict === 'no test')
process.exitCode = bad.length === 0 && outages === 'passed' ? 0 : 1

function record(id: string, outcome: Outcome): void {
  outcomes.get(id)?.push(outcome)
}

function verdictOf(id: string): Outcome | 'no test' {
  const recorded = outcomes.get(id) ?? []
  if (recorded.length === 0) return 'no test'
  if (recorded.includes('failed')) return 'failed'
  return recorded.includes('passed') ? 'passed' : 'only with --full'
}

/** Those whose title, or that of the group they are in, begins with one of the ids. */
async function runTests(files: readonly string[]): Promise<void> {
  if (files.length === 0) return
  mkdirSync(join(ROOT, '.verify'), { recursive: true })
  rmSync(REPORT, { force: true })
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
  const args = [vitest, 'run', ...reporters, '-t', `\\b(${ids.join('|')})\\b`, ...new Set(files)]
  const env = { ...process.env, ...(values.full ? { FULL_SIZE: '1' } : {}) }
  await once(spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' }), 'close')
  const report: Report = JSON.parse(readFileSync(REPORT, 'utf8'))
  for (const { status, title, ancestorTitles } of report.testResults.flatMap((file) => file.assertionResults)) {
    for (const id of [...ancestorTitles, title].flatMap(faultsIn)) record(id, status === 'passed' ? 'passed' : 'failed')
  }
}

async function runCommand(command: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn('npm', ['run', '-s', 'verify', '--', command, ...args], { cwd: ROOT, stdio: 'inherit' })
  const [status] = await once(child, 'close')
  return status === 0 ? 'passed' : 'failed'
}
