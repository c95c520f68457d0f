/**
 * npm run verify -- messages [--cases N | --full] [--seed N] [--lanes N] [--only flow/fault/n]: every message between a
 * server and its engines may be lost. For each flow, its n-th request to PostgreSQL or Redis is lost, its reply is lost, it
 * is delayed beyond the time-out, its connection is reset before or after the engine got it, or the server is killed there.
 * Then the link recovers, the client retries, and nothing has happened twice, and nothing that was told is gone.
 *
 * `--full` runs all cases and can be interrupted: with the same seed it goes on where it stopped.
 */
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../../tools/engines.ts'
import { judgeRows } from '../judge-rows.ts'
import { allCases, type Case, countMessages, FLOWS, nameOf, runCase } from './cases.ts'
import type { Problem } from './flow.ts'
import { type Harness, openHarness } from './harness.ts'
import type { Fault } from './link.ts'

/** Of the catalogue of faults. */
const PROVES = ['F05', 'F24', 'F52']

/** Without arguments: about ten minutes on two cores. */
const CASES = 800

/** A share of the cases ends within 15 minutes: on a busy machine it is smaller, and says so. */
const SHARE_MS = 13 * 60 * 1000

/** Most of a case is waiting for time-outs. */
const LANES = 6

const FOLDER = '.verify'

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: String(CASES) },
    lanes: { type: 'string', default: String(LANES) },
    seed: { type: 'string' },
    only: { type: 'string' },
    full: { type: 'boolean', default: false },
  },
})
/** All cases run in an order that does not change, so that they can be resumed. */
const seed = Number(values.seed ?? (values.full ? 1 : randomInt(2 ** 30)))
const [size, lanes] = [Number(values.cases), Number(values.lanes)]
if (![seed, size, lanes].every((each) => Number.isSafeInteger(each) && each >= 0)) throw new Error('these are numbers')

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const counted: Record<Fault, number> = {
  'request lost': 0,
  'reply lost': 0,
  delayed: 0,
  'reset before': 0,
  'reset after': 0,
  killed: 0,
}
const found: Problem[] = []
let unreached = 0

const first = await openHarness()
const { counts, problems } = await countMessages(first)
report('counting', null, problems)
const chosen = choose(allCases(counts, seed))
const progress = openProgress(values.full && values.only === undefined)
const waiting = chosen.filter((each) => !progress.done.has(nameOf(each)))
const messages = [...counts.values()].reduce((sum, count) => sum + count, 0)
console.log(
  `messages: ${PROVES.join(' ')}: ${FLOWS.length} flows with ${messages} messages, ${waiting.length} cases to run`,
)
await Promise.all(Array.from({ length: Math.min(lanes, waiting.length) || 1 }, (_, lane) => runLane(lane)))

const of = (kind: Problem['kind']) => found.filter((problem) => problem.kind === kind).length
const cases = Object.values(counted).reduce((sum, count) => sum + count, 0)
if (waiting.length > 0) console.log(`messages: ${waiting.length} cases were left out, because the time was over`)
if (unreached > 0) console.log(`messages: ${unreached} flows sent fewer messages this time; nothing was lost in them`)
console.log(
  `messages: seed=${seed} flows=${FLOWS.length} cases=${cases} lost_requests=${counted['request lost']} ` +
    `lost_replies=${counted['reply lost']} delayed=${counted.delayed} ` +
    `reset=${counted['reset before'] + counted['reset after']} killed=${counted.killed} ` +
    `double=${of('double')} lost=${of('lost')} problems=${found.length}`,
)
if (found.length === 0) progress.end()
process.exitCode = found.length > 0 ? 1 : 0

async function runLane(lane: number): Promise<void> {
  let harness = lane === 0 ? first : await openHarness()
  try {
    for (let next = take(); next; next = take()) {
      if (await run(harness, next)) continue
      await harness.stop()
      harness = await openHarness()
    }
    report('the end', null, await judgeRows(harness.service))
  } finally {
    await harness.stop()
  }
}

function take(): Case | undefined {
  return values.full || performance.now() < SHARE_MS ? waiting.shift() : undefined
}

/** False: the harness cannot be used any more. */
async function run(harness: Harness, each: Case): Promise<boolean> {
  const result = await runCase(harness, each.flow, each.fault, each.at)
  if (result.hit === null) unreached += 1
  else counted[each.fault] += 1
  report(nameOf(each), result.hit, result.problems)
  if (result.problems.length === 0) progress.add(each, result.hit !== null)
  return !result.stuck
}

function report(where: string, hit: string | null, problems: readonly Problem[]): void {
  found.push(...problems)
  for (const { kind, text } of problems) console.error(`messages: ${where}: ${kind}: ${text}${hit ? ` (${hit})` : ''}`)
}

function choose(all: readonly Case[]): readonly Case[] {
  if (values.only === undefined) return values.full ? all : all.slice(0, size)
  const names = values.only.split(',')
  return all.filter((each) => names.some((name) => nameOf(each) === name || nameOf(each).startsWith(`${name}/`)))
}

/** The names of the cases of a full run that have passed, and whether their message was reached. */
function openProgress(kept: boolean) {
  const file = `${FOLDER}/messages-${seed}.json`
  const before: Record<string, boolean> = kept && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  for (const each of chosen) {
    const reached = before[nameOf(each)]
    if (reached === true) counted[each.fault] += 1
    if (reached === false) unreached += 1
  }
  return {
    done: new Set(Object.keys(before)),
    add: (each: Case, reached: boolean) => {
      if (!kept) return
      before[nameOf(each)] = reached
      mkdirSync(FOLDER, { recursive: true })
      writeFileSync(file, JSON.stringify(before))
    },
    end: () => {
      if (kept) rmSync(file, { force: true })
    },
  }
}
