/**
 * node tools/test-report.ts FILE...: of the reports that vitest wrote as JSON, the tests that passed only when they were tried again,
 * each with its first failure, and the ten files that took longest.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

type Test = { fullName: string; status: string; failureMessages: string[] }
type File = { name: string; startTime: number; endTime: number; assertionResults: Test[] }

const testResults = process.argv.slice(2).flatMap((path): File[] => JSON.parse(readFileSync(path, 'utf8')).testResults)
const pathOf = ({ name }: File) => relative(process.cwd(), name)

const again = testResults.flatMap((file) =>
  file.assertionResults
    .filter(({ status, failureMessages }) => status === 'passed' && failureMessages.length > 0)
    .map(({ fullName, failureMessages }) => `  ${pathOf(file)}: ${fullName}\n    ${failureMessages[0]}`),
)
console.log(`${again.length} tests passed only when tried again${again.length > 0 ? ':' : ''}`)
for (const each of again) console.log(each)

console.log('\nseconds  slowest test files')
const seconds = (file: File) => (file.endTime - file.startTime) / 1000
for (const file of testResults.sort((a, b) => seconds(b) - seconds(a)).slice(0, 10))
  console.log(`${seconds(file).toFixed(0).padStart(7)}  ${pathOf(file)}`)
