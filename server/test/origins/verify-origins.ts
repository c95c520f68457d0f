/**
 * npm run verify -- origins: runs the tests in which users sign in once per origin of users: Latchkey's own, the host service's, an
 * identity provider's. origins/files.ts lists them; rig/origins/ makes the users, and skips tests that do not apply to an origin.
 *
 *   npm run verify -- origins                                                a quarter of the files, drawn by a seed
 *   npm run verify -- origins --full                                         all files; after an interruption, those that have not passed yet
 *   npm run verify -- origins --origins host --files device-flow,phishing
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Origin } from '../../src/core/sign-in/origin.ts'
import { ORIGINS } from '../rig/origins/users-from.ts'
import { filesFor } from './files.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const PROGRESS = join(ROOT, '.verify', 'origins.json')
const PROJECTS = ['attacks', 'browser', 'timing']

/** One share ends within 15 minutes on two cores. */
const SHARES = 4

/** Files of one run of Vitest; an interruption costs as many. */
const TOGETHER = 15

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

/** `skipped`: how many tests did not apply, by reason. */
type FileResult = {
  readonly passed: number
  readonly failed: number
  readonly skipped: Readonly<Record<string, number>>
}

const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(SHARES)) },
    origins: { type: 'string', default: ORIGINS.join(',') },
    files: { type: 'string' },
  },
})
const origins = ORIGINS.filter((origin) => values.origins.split(',').includes(origin))
mkdirSync(join(ROOT, '.verify'), { recursive: true })
const results = new Map<string, FileResult>(
  values.full && existsSync(PROGRESS) ? JSON.parse(readFileSync(PROGRESS, 'utf8')) : [],
)
const started = performance.now()
for (const origin of origins) await verify(origin)
const lines = origins.map(summary)
const failed = [...results.values()].some((each) => each.failed > 0)
if (!failed) rmSync(PROGRESS, { force: true })
const share = values.full || values.files ? 'all' : `1/${SHARES} seed=${values.seed}`
console.log(`origins: share=${share} seconds=${Math.round((performance.now() - started) / 1000)}`)
for (const line of lines) console.log(line)
process.exitCode = failed || lines.length === 0 ? 1 : 0

function chooseFiles(origin: Origin): readonly string[] {
  const every = filesFor(origin)
  const named = values.files?.split(',')
  if (named) return every.filter((file) => named.some((name) => file.includes(name)))
  return values.full ? every : every.filter((_, index) => index % SHARES === Number(values.seed) % SHARES)
}

function keyOf(origin: Origin, file: string): string {
  return `${origin} ${file}`
}

async function verify(origin: Origin): Promise<void> {
  const waiting = chooseFiles(origin).filter((file) => !results.has(keyOf(origin, file)))
  while (waiting.length > 0) {
    for (const [file, result] of await run(origin, waiting.splice(0, TOGETHER)))
      results.set(keyOf(origin, file), result)
    const passed = [...results].filter(([, each]) => each.failed === 0)
    if (values.full) writeFileSync(PROGRESS, JSON.stringify(passed))
  }
}

async function run(origin: Origin, files: readonly string[]): Promise<Map<string, FileResult>> {
  const report = join(ROOT, '.verify', `origins-${origin}.json`)
  rmSync(report, { force: true })
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const projects = PROJECTS.flatMap((project) => ['--project', project])
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
  const paths = files.map((file) => `server/test/${file}.test.ts`)
  const child = spawn(process.execPath, [vitest, 'run', ...projects, ...reporters, ...paths], {
    cwd: ROOT,
    env: { ...process.env, USERS_FROM: origin },
    stdio: 'inherit',
  })
  await once(child, 'close')
  const { testResults }: Report = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { testResults: [] }
  return new Map(
    files.map((file) => {
      const result = testResults.find(({ name }) => name.endsWith(`/server/test/${file}.test.ts`))
      return [file, result ? resultOf(origin, result) : { passed: 0, failed: 1, skipped: {} }]
    }),
  )
}

function resultOf(origin: Origin, { name, status, message, assertionResults }: Report['testResults'][number]) {
  const failures = assertionResults.filter((each) => each.status === 'failed')
  for (const { fullName } of failures) console.log(`origins: users=${origin} failed: ${fullName}`)
  // A hook of the file failed, and no test ran.
  const hook = status === 'failed' && failures.length === 0
  if (hook) console.log(`origins: users=${origin} failed: ${name} ${message}`)
  const skipped: Record<string, number> = {}
  for (const { meta } of assertionResults.filter((each) => !['passed', 'failed'].includes(each.status))) {
    const reason = meta?.notApplicable ?? 'not_on_this_machine'
    skipped[reason] = (skipped[reason] ?? 0) + 1
  }
  const passed = assertionResults.filter((each) => each.status === 'passed').length
  return { passed, failed: failures.length + (hook ? 1 : 0), skipped }
}

function summary(origin: Origin): string {
  const each = chooseFiles(origin).flatMap((file) => results.get(keyOf(origin, file)) ?? [])
  const passed = each.reduce((sum, file) => sum + file.passed, 0)
  const tests = each.reduce((sum, file) => sum + file.passed + file.failed, 0)
  const reasons = new Map<string, number>()
  for (const [reason, count] of each.flatMap(({ skipped }) => Object.entries(skipped))) {
    reasons.set(reason, (reasons.get(reason) ?? 0) + count)
  }
  const skipped = [...reasons].map(([reason, count]) => ` ${reason}=${count}`).join('')
  return `origins: users=${origin} files=${each.length} tests=${tests} passed=${passed}${skipped && ` not applicable:${skipped}`}`
}
