/**
 * Checks that the fast tests detect a missing rule. Each mutant is applied alone to a copy of the repository under .verify/, and
 * the test files that it names have to fail there. The working tree is only read.
 *
 *   npm run verify:mutants                           all of them
 *   npm run verify:mutants -- --only C11,H18         some of them
 *   npm run verify:mutants -- --sample 4 --seed 7    a few at random; without a seed, a new one
 *
 * A mutant is killed only by a failing test: one that cannot be run is broken, and its record has to be fixed.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { randomFrom } from '../model/suspension-traffic.ts'
import { authorizationMutants } from './authorization-mutants.ts'
import { deviceFlowMutants } from './device-flow-mutants.ts'
import { deviceMutants } from './device-mutants.ts'
import { grantingMutants } from './granting-mutants.ts'
import { managementMutants } from './management-mutants.ts'
import { messageMutants } from './message-mutants.ts'
import { applyMutant, type Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import { operatorMutants } from './operator-mutants.ts'
import { providerMutants } from './provider-mutants.ts'
import { runTests } from './run-tests.ts'
import { signInMutants } from './sign-in-mutants.ts'
import { testModeMutants } from './test-mode-mutants.ts'
import { vettingMutants } from './vetting-mutants.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** In parallel, each in a copy of its own: as many as usual cores. */
const LANES = 2

/** Not copied: generated and linked folders. */
const LEFT_OUT = new Set(['.git', '.engines', '.site', '.verify', 'node_modules'])

const { values } = parseArgs({
  options: { only: { type: 'string' }, sample: { type: 'string' }, seed: { type: 'string' } },
})

const chosen = choose([
  ...mutants,
  ...authorizationMutants,
  ...grantingMutants,
  ...testModeMutants,
  ...operatorMutants,
  ...vettingMutants,
  ...signInMutants,
  ...providerMutants,
  ...deviceMutants,
  ...deviceFlowMutants,
  ...messageMutants,
  ...managementMutants,
])
for (const mutant of chosen) applyMutant(mutant, readFileSync(join(ROOT, mutant.file), 'utf8'))
if (!process.env.DATABASE_URL || !process.env.REDIS_URL) {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  process.env.REDIS_URL ??= redisUrl
}
mkdirSync(join(ROOT, '.verify'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.verify', 'mutants-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const copies = Array.from({ length: Math.min(LANES, chosen.length) }, (_, lane) => makeCopy(join(folder, String(lane))))
process.exitCode = (await run(copies)) ? 0 : 1

function choose(all: readonly Mutant[]): readonly Mutant[] {
  if (values.only !== undefined) {
    const ids = values.only.split(',')
    const unknown = ids.filter((id) => !all.some((mutant) => mutant.id === id))
    if (unknown.length > 0) throw new Error(`There is no mutant ${unknown.join(', ')}.`)
    return all.filter(({ id }) => ids.includes(id))
  }
  if (values.sample === undefined) return all
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed)
  const size = Number(values.sample)
  if (!Number.isSafeInteger(seed) || !(size >= 1)) throw new Error('--sample and --seed take whole numbers')
  console.log(`seed: ${seed}`)
  const random = randomFrom(seed)
  const drawn = all.map((mutant) => ({ mutant, at: random() })).sort((one, other) => one.at - other.at)
  return drawn.slice(0, size).map(({ mutant }) => mutant)
}

function makeCopy(copy: string): string {
  mkdirSync(copy)
  for (const name of readdirSync(ROOT).filter((each) => !LEFT_OUT.has(each))) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

async function run([first = '', ...others]: readonly string[]): Promise<boolean> {
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))]
  const unchanged = await runTests(first, files)
  if (!unchanged.passed) {
    console.log(`The tests do not pass on the sources as they are:\n${unchanged.output}`)
    return false
  }
  const waiting = [...chosen]
  const killed: string[] = []
  const lane = async (copy: string) => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      if (await isKilled(copy, mutant)) killed.push(mutant.id)
    }
  }
  await Promise.all([first, ...others].map(lane))
  console.log(`mutants: applied=${chosen.length} killed=${killed.length}`)
  return killed.length === chosen.length
}

async function isKilled(copy: string, mutant: Mutant): Promise<boolean> {
  const path = join(copy, mutant.file)
  const source = readFileSync(path, 'utf8')
  writeFileSync(path, applyMutant(mutant, source))
  const from = performance.now()
  const result = await runTests(copy, mutant.tests)
  writeFileSync(path, source)
  const seconds = ((performance.now() - from) / 1000).toFixed(1).padStart(6)
  const verdict = result.failedTest !== null ? 'killed' : result.passed ? 'SURVIVED' : 'BROKEN'
  console.log(`${seconds} s  ${verdict.padEnd(8)}  ${mutant.id}: ${result.failedTest ?? mutant.allows}`)
  if (verdict === 'BROKEN') console.log(result.output)
  return verdict === 'killed'
}
