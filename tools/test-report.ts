/**
 * node tools/test-report.ts FILE...: of the reports that vitest wrote as JSON, the ten files that took longest, and each test that
 * passed only when it was tried again, with its first failure, or was skipped. Of a test file in two reports, the later one counts.
 *
 *   --failed   only the test files that failed, a line each
 *   --count    only how many tests passed, failed and were skipped
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

const skipped = files.flatMap((file) => testsOf(file, 'skipped', 'pending', 'todo'))
if (values.failed) listFailed()
else if (values.count) count()
else {
  listSlowest()
  // A test was tried again by vitest, or with its whole file.
  const again = [
    ...files.flatMap((file) => testsOf(file, 'passed').filter(({ failureMessages }) => failureMessages.length > 0)),
    ...replaced.flatMap((file) => testsOf(file, 'failed')),
  ]
  list('tried again', again)
  list('skipped', skipped)
}

function listFailed(): void {
  for (const file of files.filter(({ status }) => status === 'failed')) console.log(pathOf(file))
}

function count(): void {
  const having = (wanted: string) => files.flatMap((file) => testsOf(file, wanted)).length
  console.log(having('passed'), having('failed'), skipped.length)
}

function testsOf(file: File, ...wanted: readonly string[]) {
  const path = pathOf(file)
  return file.assertionResults.filter(({ status }) => wanted.includes(status)).map((test) => ({ path, ...test }))
}

function list(what: string, tests: readonly (Test & { readonly path: string })[]): void {
  console.log(`${tests.length} ${tests.length === 1 ? 'test was' : 'tests were'} ${what}${tests.length > 0 ? ':' : ''}`)
  for (const { path, fullName, failureMessages } of tests) {
    const [first] = failureMessages[0]?.split('\n') ?? []
    console.log([`  ${path}: ${fullName}`, ...(first ? [`    ${first}`] : [])].join('\n'))
  }
}

function listSlowest(): void {
  const seconds = (file: File) => (file.endTime - file.startTime) / 1000
  console.log('seconds  slowest test files')
  for (const file of files.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, 10))
    console.log(`${seconds(file).toFixed(0).padStart(7)}  ${pathOf(file)}`)
  console.log()
}
