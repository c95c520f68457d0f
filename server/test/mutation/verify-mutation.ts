/**
 * Mutation testing by Stryker: conditions, operators, literals and blocks are changed one by one, and a test has to fail.
 * A mutant that no test notices is a survivor: judged.json says why it may stay, and any other is printed.
 *
 *   npm run verify -- mutation                   400 lines of core/ and secrets/, drawn by a seed
 *   npm run verify -- mutation --full            all of core/ and secrets/, then 300 lines of the device and grant flows
 *   npm run verify -- mutation --part secrets    one part of them, or `flows`
 *
 * `--full` and `--part flows` keep the result of each part for the same seed and the same content of server/, and continue
 * at the next call. Constants of a module are left out (Stryker: static), because each would need all tests again.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { randomFrom } from '../model/suspension-traffic.ts'
import { mutantsOf, print, type TestedMutant } from './tested-mutants.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const RESULTS = join(ROOT, '.verify', 'mutation')

/** Lines that are drawn. Most have one mutant. */
const LINES = { pure: 400, flows: 300 }

/** Lines of the flows per run of Stryker. Their tests use PostgreSQL and Redis and take long: a stopped call repeats one run only. */
const LINES_AT_ONCE = 100

/** Of the mutants of core/ and secrets/ that a test could notice. */
const MIN_SCORE = 0.95

const CORE_AND_SECRETS = ['server/src/core/**/*.ts', 'server/src/secrets/**/*.ts']
const FLOWS = ['server/src/flows/device/*.ts', 'server/src/flows/grants/*.ts']

/** The folders of core/, core/ itself and secrets/: each a run of its own, so that one that was stopped continues. */
const PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ...globSync('server/src/core/*/', { cwd: ROOT }).map((folder) => [basename(folder), [`${folder}/*.ts`]] as const),
  ['core', ['server/src/core/*.ts']],
  ['secrets', ['server/src/secrets/**/*.ts']],
])

const { values } = parseArgs({
  options: { full: { type: 'boolean' }, part: { type: 'string' }, seed: { type: 'string' } },
})
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed)

if (!existsSync(join(import.meta.dirname, 'node_modules'))) {
  execFileSync('npm', ['ci', '--prefix', import.meta.dirname, '--ignore-scripts', '--no-audit', '--no-fund'])
}
mkdirSync(RESULTS, { recursive: true })

let passed = true
if (values.part === 'flows') await testFlows()
else if (values.part !== undefined) passed = judge(values.part, test('pure', PARTS.get(values.part) ?? []))
else if (values.full) {
  const pure = [...PARTS].flatMap(([name, files]) => once(name, () => test('pure', files)))
  passed = judge('core and secrets', pure)
  await testFlows()
} else {
  console.log(`seed: ${seed}`)
  passed = judge('a part of core and secrets', test('pure', drawLines(CORE_AND_SECRETS, LINES.pure)), false)
}
process.exitCode = passed ? 0 : 1

async function testFlows(): Promise<void> {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  process.env.REDIS_URL ??= redisUrl
  const drawn = drawLines(FLOWS, LINES.flows)
  const mutants = Array.from({ length: Math.ceil(drawn.length / LINES_AT_ONCE) }, (_, part) => {
    const lines = drawn.slice(part * LINES_AT_ONCE, (part + 1) * LINES_AT_ONCE)
    return once(`flows-${seed}-${part + 1}`, () => test('flows', lines))
  }).flat()
  print(`device and grant flows, seed ${seed}`, mutants, false)
}

/** The result of a part, from an earlier call if server/ was the same. */
function once(name: string, run: () => readonly TestedMutant[]): readonly TestedMutant[] {
  const tree = execFileSync('git', ['rev-parse', '--short', 'HEAD:server'], { cwd: ROOT }).toString().trim()
  const file = join(RESULTS, `${tree}-${name}.json`)
  if (!existsSync(file)) writeFileSync(file, JSON.stringify(run()))
  return JSON.parse(readFileSync(file, 'utf8'))
}

function test(tests: 'pure' | 'flows', files: readonly string[]): readonly TestedMutant[] {
  const stryker = join(import.meta.dirname, 'node_modules', '.bin', 'stryker')
  const { status } = spawnSync(
    stryker,
    ['run', join(import.meta.dirname, 'stryker.config.json'), '--mutate', files.join()],
    {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, MUTATED: tests },
    },
  )
  if (status !== 0) throw new Error(`Stryker ended with status ${status}`)
  return mutantsOf(readFileSync(join(RESULTS, 'last.json'), 'utf8'))
}

/** Lines with code, as ranges of Stryker. What spans several lines is left out. */
function drawLines(patterns: readonly string[], count: number): readonly string[] {
  const random = randomFrom(seed)
  const lines = globSync([...patterns], { cwd: ROOT }).flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((text, at) =>
        /^\s*(?:import|export type|type|\/?\*|\/\/|[\])}]|$)/.test(text) ? [] : [`${file}:${at + 1}-${at + 1}`],
      ),
  )
  const drawn = lines.map((line) => ({ line, at: random() })).sort((one, other) => one.at - other.at)
  return drawn.slice(0, count).map(({ line }) => line)
}

function judge(name: string, mutants: readonly TestedMutant[], whole = true): boolean {
  const { score, open } = print(name, mutants, whole)
  return score >= MIN_SCORE && open === 0
}
