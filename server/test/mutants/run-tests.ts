/** Runs test files in a copy of the repository, up to the first failure. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export type TestRun = {
  /** Every test ran and passed. */
  readonly passed: boolean
  /** Name of a test that failed by an assertion; null when there is none. */
  readonly failedTest: string | null
  readonly output: string
}

/** As Vitest's JSON reporter writes it. */
type Report = {
  readonly success: boolean
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/** The sources cannot be run; then no test has detected anything. */
const DOES_NOT_RUN = /^(SyntaxError|ReferenceError)/

export async function runTests(folder: string, files: readonly string[]): Promise<TestRun> {
  const reportFile = join(folder, '.verify-report.json')
  rmSync(reportFile, { force: true })
  const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const child = spawn(process.execPath, [vitest, 'run', '--bail=1', ...reporters, ...files], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = () => child.kill('SIGTERM')
  process.once('exit', stop)
  const written: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => written.push(String(data)))
  const [status] = await once(child, 'close')
  process.off('exit', stop)
  const output = written.join('')
  if (!existsSync(reportFile)) return { passed: false, failedTest: null, output }
  const report: Report = JSON.parse(readFileSync(reportFile, 'utf8'))
  const failed = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .find(({ status, failureMessages }) => {
      return status === 'failed' && failureMessages.some((message) => !DOES_NOT_RUN.test(message))
    })
  const passed = status === 0 && report.success && report.numPassedTests > 0
  return { passed, failedTest: failed?.fullName ?? null, output }
}
