/**
 * npm run verify -- soak [--hours N | --minutes N] [--seed N] [--picture FILE]: two servers with their own PostgreSQL and
 * Redis under every flow, with users on pages, consoles, webhooks, and faults at random. Every minute a month passes. Fails if
 * an outcome is wrong, or if memory, descriptors, connections, transactions, tables or indexes grow (growth.ts has the rule).
 *
 * Samples are written to .verify/soak-SEED.jsonl as they are taken, and drawn at the end. Without arguments: ten minutes.
 */
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { between, randomFrom } from '../../model/suspension-traffic.ts'
import { startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { startRedisNode } from '../../rig/engines/redis-node.ts'
import { judgeSamples, KILLED, measurePostgres, measureProcesses, measureRedis, type Sample } from './figures.ts'
import { startSoakLoad } from './load.ts'
import { endMonth } from './month.ts'
import { drawSoak } from './picture.ts'
import { createFaults } from './random-faults.ts'
import { openScene } from './scene.ts'

/** Of the catalogue of faults. */
const PROVES = 'F51'

const SAMPLE_MS = 5_000
const MONTH_SECONDS = 60

/** A run has at least so many months, or nothing could be said about tables. */
const MONTHS = 4

/** Flows that their clients gave up, of all: a machine may be busy. */
const MAX_UNFINISHED = 0.05

const { values } = parseArgs({
  options: {
    hours: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / (24 * 60 * 60 * 1000))) },
    picture: { type: 'string', default: '.verify/soak.svg' },
  },
})
const seed = Number(values.seed)
const seconds = values.hours === undefined ? Number(values.minutes) * 60 : Number(values.hours) * 3_600
if (!(seconds > 0 && Number.isSafeInteger(seed))) throw new Error('--hours, --minutes and --seed take numbers')
const file = `.verify/soak-${seed}.jsonl`
mkdirSync('.verify', { recursive: true })
writeFileSync(file, '')

const random = randomFrom(seed)
const folder = mkdtempSync(join(tmpdir(), 'latchkey-soak-'))
const postgres = await startOwnPostgres()
const redis = await startRedisNode({ folder, kind: 'server', lines: () => ['save ""', 'appendonly no'] })
process.env.DATABASE_URL = postgres.url
const scene = await openScene(`redis://127.0.0.1:${redis.port}`, random)
const { own, servers, people } = scene

const begun = performance.now()
const elapsed = () => (performance.now() - begun) / 1000
const samples: Sample[] = []
const problems: string[] = []
const watched = [
  { name: 'server 1', pids: () => servers.pids().slice(0, 1) },
  { name: KILLED, pids: () => servers.pids().slice(1) },
  { name: 'PostgreSQL', pids: () => postgres.pids() },
  { name: 'Redis', pids: () => redis.pids() },
]

function record(sample: Omit<Sample, 'seconds'>): void {
  const recorded = { seconds: Math.round(elapsed() * 10) / 10, ...sample }
  samples.push(recorded)
  appendFileSync(file, `${JSON.stringify(recorded)}\n`)
}

async function measure(): Promise<void> {
  const engines = await measurePostgres(own.database).catch(() => ({}))
  await servers.collectGarbage()
  const figures = { ...measureProcesses(watched), ...engines, ...measureRedis(await redis.ask('info', 'memory')) }
  record({ figures })
}

let measuring = true
async function measureAlways(): Promise<void> {
  for (; measuring; await sleep(SAMPLE_MS)) await measure()
}

const counted = { months: 0, faults: 0 }
let status = 1
try {
  for (const person of people) await person.signIn()
  const load = startSoakLoad({ ...scene, random })
  const sampling = measureAlways()
  const faults = createFaults({ postgres, redis, replaceServer: servers.replace }, random)
  const monthSeconds = Math.min(MONTH_SECONDS, seconds / MONTHS)
  while (elapsed() < seconds) {
    const until = elapsed() + monthSeconds
    for (;;) {
      await sleep(between(random, 8_000, 20_000))
      if (elapsed() > until) break
      record({ figures: {}, fault: await faults.next() })
      counted.faults += 1
    }
    await load.pause()
    const ended = await endMonth(own, people)
    record({ figures: ended.figures })
    problems.push(...ended.problems)
    counted.months += 1
    load.resume()
  }
  await load.finish()
  measuring = false
  await sampling
  const { done, unheard, unfinished, histories, pages } = load.ends
  const flows = done + unheard + unfinished
  problems.push(...load.problems, ...servers.complaints())
  if (unfinished > MAX_UNFINISHED * flows) problems.push(`${unfinished} of ${flows} clients gave up: ${load.gaveUp()}`)
  const judged = judgeSamples(samples)
  const growing = judged.filter(({ grows }) => grows)
  for (const { kind, name, unit, growth, allowed } of growing)
    console.error(`soak: ${kind} of ${name} grows by ${growth.toFixed(2)} ${unit}, allowed are ${allowed.toFixed(2)}`)
  for (const problem of problems.slice(0, 20)) console.error(`soak: ${problem}`)
  const minutes = Math.round(elapsed() / 60)
  const caption = `${minutes} minutes, ${counted.months} months of retention, ${counted.faults} faults, ${flows} flows`
  writeFileSync(values.picture, drawSoak(samples, caption))
  console.log(
    `soak: fault=${PROVES} seed=${seed} minutes=${minutes} months=${counted.months} faults=${counted.faults} ` +
      `flows=${flows} histories=${histories} pages=${pages} webhooks=${scene.webhooks()} unheard=${unheard} ` +
      `unfinished=${unfinished} series=${judged.length} growing=${growing.length} problems=${problems.length}`,
  )
  status = growing.length + problems.length > 0 ? 1 : 0
} finally {
  await scene.stop()
  await redis.kill()
  postgres.remove()
  removeFolder(folder)
}
process.exitCode = status
