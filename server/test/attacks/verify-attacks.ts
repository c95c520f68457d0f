/**
 * Runs every test that names an attack of the catalogue, and says for how many of the attacks all of their tests passed.
 *
 *   npm run verify:attacks              in the short forms that CI runs
 *   npm run verify:attacks -- --full    at the sizes of the catalogue, which takes hours
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ATTACKS } from './catalogue.ts'
import { attacksByFile, attacksIn } from './titles.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const REPORT = join(ROOT, '.verify', 'attacks.json')

/** Of no attack, but it has a full size as well. */
const SIZED_TOO = ['server/test/conformance/credentials.test.ts']

/** Programs of their own, at the size of the catalogue. */
const PROGRAMS: readonly { readonly ids: readonly string[]; readonly command: readonly string[] }[] = [
  {
    ids: ['DC-01', 'DC-07'],
    command: [
      ...['races/verify-races.ts', '--codes', '10000', '--polls', '64'],
      ...['--decisions', '5000', '--processes', '4'],
    ],
  },
  { ids: ['TK-01', 'TK-02'], command: ['races/verify-refresh.ts', '--grants', '1000'] },
  { ids: ['RL-01', 'RL-02', 'RL-04'], command: ['model/verify-suspension.ts'] },
  { ids: ['WB-07'], command: ['scale/verify-stuffing.ts', '--full'] },
  { ids: ['SC-03'], command: ['scale/verify-key-retirement.ts', '--full'] },
]

type Report = {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const { values } = parseArgs({ options: { full: { type: 'boolean', default: false } } })
mkdirSync(join(ROOT, '.verify'), { recursive: true })
rmSync(REPORT, { force: true })
const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
const files = [...attacksByFile().keys(), ...(values.full ? SIZED_TOO : [])]
const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...files], {
  cwd: ROOT,
  env: { ...process.env, ...(values.full ? { FULL_SIZE: '1' } : {}) },
  stdio: 'inherit',
})
const [status] = await once(child, 'close')
if (!existsSync(REPORT)) throw new Error('Vitest wrote no report')

const statuses = new Map<string, Set<string>>(Object.keys(ATTACKS).map((id) => [id, new Set()]))
const report: Report = JSON.parse(readFileSync(REPORT, 'utf8'))
for (const { fullName, status: outcome } of report.testResults.flatMap(({ assertionResults }) => assertionResults)) {
  for (const id of attacksIn(fullName)) statuses.get(id)?.add(outcome)
}
for (const { ids, command } of values.full ? PROGRAMS : []) {
  const [program = '', ...options] = command
  const tsx = join(ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs')
  const args = [tsx, join('server', 'test', program), ...options]
  const [outcome] = await once(spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }), 'close')
  for (const id of ids) statuses.get(id)?.add(outcome === 0 ? 'passed' : 'failed')
}
const ids = [...statuses.keys()]
const without = ids.filter((id) => statuses.get(id)?.size === 0)
const failed = ids.filter((id) => [...(statuses.get(id) ?? [])].some((outcome) => outcome !== 'passed'))
for (const id of without) console.log(`no test: ${id} ${ATTACKS[id]}`)
for (const id of failed) console.log(`failed:  ${id} ${ATTACKS[id]}`)
console.log(`attacks: ids=${ids.length} passed=${ids.length - without.length - failed.length}`)
process.exitCode = status === 0 && without.length === 0 && failed.length === 0 ? 0 : 1
