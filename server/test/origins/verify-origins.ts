/**
 * npm run verify:origins: runs the tests in which users sign in once per origin of users: Latchkey's own, the host service's, an
 * identity provider's. rig/origins/users-from.ts makes the users, and names the tests that do not apply to an origin.
 *
 *   npm run verify:origins                       a third of the files, another one each day
 *   npm run verify:origins -- --full             all files
 *   npm run verify:origins -- --origins host --files device-flow,phishing
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ORIGINS } from '../rig/origins/users-from.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const SHARES = 3
const DAY_MS = 24 * 60 * 60 * 1000

/** A user signs in: at the pages, in a browser, or with a session that the rig makes. */
const SIGNS_IN =
  /\b(signIn|signInAs|signInThere|startSession|makeSignedInUsers?|DialogWindow|openQuestion|useBrowsing)\b/
const NEED_OF_FILE = /= testsThatNeed\('(\w+)'\)/

type Report = {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly meta?: { readonly notApplicable?: string }
    }[]
  }[]
}

const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Math.floor(Date.now() / DAY_MS)) },
    origins: { type: 'string', default: ORIGINS.join(',') },
    files: { type: 'string' },
  },
})
const origins = values.origins.split(',')
const files = chooseFiles()
const started = performance.now()
mkdirSync(join(ROOT, '.verify'), { recursive: true })
let problems = 0
for (const origin of origins) problems += await verify(origin)
const seconds = Math.round((performance.now() - started) / 1000)
const size = values.full || values.files ? 'all' : `1/${SHARES}`
console.log(
  `origins: origins=${origins.length} files=${files.length} share=${size} seed=${values.seed} seconds=${seconds} problems=${problems}`,
)
process.exitCode = problems === 0 ? 0 : 1

function chooseFiles(): readonly string[] {
  const every = globSync('server/test/**/*.test.ts', { cwd: ROOT })
    .filter((file) => SIGNS_IN.test(readFileSync(join(ROOT, file), 'utf8')))
    .sort()
  const named = values.files?.split(',')
  if (named) return every.filter((file) => named.some((name) => file.includes(name)))
  return values.full ? every : every.filter((_, index) => index % SHARES === Number(values.seed) % SHARES)
}

/** Prints what became of the tests; returns how many failed. */
async function verify(origin: string): Promise<number> {
  const report = join(ROOT, '.verify', `origins-${origin}.json`)
  rmSync(report, { force: true })
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const projects = ['attacks', 'browser', 'clients', 'engines', 'waiting'].flatMap((name) => ['--project', name])
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
  const child = spawn(process.execPath, [vitest, 'run', ...projects, ...reporters, ...files], {
    cwd: ROOT,
    env: { ...process.env, USERS_FROM: origin },
    stdio: 'inherit',
  })
  const [status] = await once(child, 'close')
  if (!existsSync(report)) throw new Error('Vitest wrote no report')
  const { testResults }: Report = JSON.parse(readFileSync(report, 'utf8'))
  const reasons = new Map<string, number>()
  let [passed, failed] = [0, 0]
  for (const { name, status: outcome, message, assertionResults } of testResults) {
    const needOfFile = NEED_OF_FILE.exec(readFileSync(name, 'utf8'))?.[1]
    const failures = assertionResults.filter((each) => each.status === 'failed')
    for (const { fullName } of failures) console.log(`origins: users=${origin} failed: ${fullName}`)
    // A hook of the file failed, and no test ran.
    const hook = outcome === 'failed' && failures.length === 0
    if (hook) console.log(`origins: users=${origin} failed: ${name} ${message}`)
    failed += failures.length + (hook ? 1 : 0)
    passed += assertionResults.filter((each) => each.status === 'passed').length
    for (const { meta } of assertionResults.filter((each) => !['passed', 'failed'].includes(each.status))) {
      const reason = meta?.notApplicable ?? needOfFile ?? 'not_on_this_machine'
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    }
  }
  const total = [...reasons.values()].reduce((sum, each) => sum + each, 0)
  const listed = [...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ')
  const notApplicable = `not_applicable=${total}${total > 0 ? ` (${listed})` : ''}`
  console.log(`origins: users=${origin} files=${testResults.length} passed=${passed} ${notApplicable} failed=${failed}`)
  return status === 0 ? failed : Math.max(failed, 1)
}
