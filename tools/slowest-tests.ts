/** node tools/slowest-tests.ts FILE: the ten test files that took longest, of the report that vitest wrote as JSON. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

type Report = { testResults: { name: string; startTime: number; endTime: number }[] }

const { testResults }: Report = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const files = testResults.map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1000 }))
console.log('seconds  slowest test files')
for (const { name, seconds } of files.sort((a, b) => b.seconds - a.seconds).slice(0, 10))
  console.log(`${seconds.toFixed(0).padStart(7)}  ${relative(process.cwd(), name)}`)
