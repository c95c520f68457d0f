/**
 * node tools/test-report.ts FILE...: of the reports that vitest wrote as JSON, the tests that passed only when they were tried again,
 * each with its first failure, and the ten files that took longest. Of a test file in two reports, the later one counts.
 *
 *   --failed   only the test files that failed, a line each
 *   --count    only how many tests passed and failed
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { parseArgs } from 'node:util'

type Test = { fullName: string; status: string; failureMessages: string[] }
type File = { name: string; status: string; startTime: number; endTime: number; assertionResults: Test[] }

const { values, positionals } = parseArgs({
  options: { failed: { type: 'boolean' }, count: { type: 'boolean' } },
  allowPositionals: true,
})
const reported = positionals.flatMap((path): File[] => JSON.parse(readFileSync(path, 'utf8')).testResults)
const files = [...new Map(reported.map((file) => [file.name, file])).values()]
const replaced = reported.filter((file) => !files.includes(file))
const pathOf = ({ name }: File) => relative(process.cwd(), name)

if (values.failed) listFailed()
else if (values.count) count()
else {
  listTriedAgain()
  listSlowest()
}

function listFailed(): void {
  for (const file of files.filter(({ status }) => status === 'failed')) console.log(pathOf(file))
}

function count(): void {
  const tests = files.flatMap(({ assertionResults }) => assertionResults)
  const having = (wanted: string) => tests.filter(({ status }) => status === wanted).length
  console.log(having('passed'), having('failed'))
}

/** A test was tried again by vitest, or with its whole file. */
function listTriedAgain(): void {
  const again = [
    ...files.flatMap((file) => testsOf(file, 'passed').filter(({ failureMessages }) => failureMessages.length > 0)),
    ...replaced.flatMap((file) => testsOf(file, 'failed')),
  ]
  console.log(`${again.length} tests were tried again${again.length > 0 ? ':' : ''}`)
  for (const { path, fullName, failureMessages } of again)
    console.log(`  ${path}: ${fullName}\n    ${failureMessages[0]?.split('\n')[0]}`)
}

function testsOf(file: File, wanted: string) {
  const path = pathOf(file)
  return file.assertionResults.filter(({ status }) => status === wanted).map((test) => ({ path, ...test }))
}

function listSlowest(): void {
  const seconds = (file: File) => (file.endTime - file.startTime) / 1000
  console.log('\nseconds  slowest test files')
  for (const file of files.sort((a, b) => seconds(b) - seconds(a)).slice(0, 10))
    console.log(`${seconds(file).toFixed(0).padStart(7)}  ${pathOf(file)}`)
}
