/**
 * Runs every test that names an attack of the catalogue, and says for how many of the attacks all of their tests passed.
 *
 *   npm run verify:attacks              in the short forms that CI runs
 *   npm run verify:attacks -- --full    at the sizes of the catalogue
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
const ids = [...statuses.keys()]
const without = ids.filter((id) => statuses.get(id)?.size === 0)
const failed = ids.filter((id) => [...(statuses.get(id) ?? [])].some((outcome) => outcome !== 'passed'))
for (const id of without) console.log(`no test: ${id} ${ATTACKS[id]}`)
for (const id of failed) console.log(`failed:  ${id} ${ATTACKS[id]}`)
console.log(`attacks: ids=${ids.length} passed=${ids.length - without.length - failed.length}`)
process.exitCode = status === 0 && without.length === 0 && failed.length === 0 ? 0 : 1
