/**
 * Does an application notice that another one floods the service?
 *
 *   npm run verify:fair-share                      two minutes
 *   npm run verify:fair-share -- --seconds 20      the same, short
 *
 * One built server in a process of its own, PostgreSQL, Redis. A quiet application asks for codes and polls at a steady pace. In
 * every other round a loud one asks for codes and polls at twenty times its share, from three hundred networks. Rounds alternate,
 * because only within one run can two figures of the same machine be compared; of each kind of round the median counts.
 *
 * The share of an application is CODE_REQUESTS_PER_APPLICATION, here a tenth of the codes that this machine can make, and at most
 * fifty a second. The quiet one asks for half of its share, and polls as often as its share.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { createTestDatabase, engineUrl } from '../rig/database.ts'
import { type CodeRecord, Device } from '../rig/device.ts'
import { type MadeApplication, makeAccount, makeApplication, makeConfig } from '../rig/make.ts'
import { startServerProcess } from '../rig/server-process.ts'
import { type Measured, type Stream, startOpenLoad } from './open-load.ts'

const GOAL = 2

/** A second. */
const LARGEST_SHARE = 50
const FLOOD = 20

const ROUNDS = 5

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '120' } } })
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new Error('--seconds takes a number')
const roundSeconds = seconds / (2 * ROUNDS)

if (!process.env.DATABASE_URL || !process.env.REDIS_URL) {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  process.env.REDIS_URL ??= redisUrl
}

const database = await createTestDatabase()
const plain = { DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL'), TRUST_PROXY: '127.0.0.1' }
const [quiet, loud] = await register()
const share = Math.max(1, Math.min(LARGEST_SHARE, Math.floor((await capacity()) / 10)))
const server = await startServerProcess({
  ...plain,
  CODE_REQUESTS_PER_NETWORK: '300',
  CODE_REQUESTS_PER_APPLICATION: String(share * 60),
  OVERLOAD_DELAY: '50',
})
const loads = [
  startOpenLoad({ address: server.address, connections: 64, nice: 0, streams: await streamsOf(quiet, 1, '10.1') }),
  startOpenLoad({ address: server.address, connections: 128, nice: 10, streams: await streamsOf(loud, FLOOD, '10.2') }),
] as const
try {
  const [quietLoad, loudLoad] = loads
  // Once for both, unmeasured: connections, compiled code, PostgreSQL's plans.
  await Promise.all([quietLoad.run(2), loudLoad.run(1)])
  const before: Measured[][] = []
  const during: Measured[][] = []
  const flooded: Measured[][] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    before.push([...(await quietLoad.run(roundSeconds))])
    const [measured, flood] = await Promise.all([quietLoad.run(roundSeconds), loudLoad.run(roundSeconds)])
    during.push([...measured])
    flooded.push([...flood])
  }

  const errors = [...before, ...during].flat().reduce((sum, { answers }) => sum + failuresIn(answers), 0)
  const codes = compare(before, during, 'codes')
  const polls = compare(before, during, 'polls')
  for (const name of ['codes', 'polls']) {
    console.log(`fair-share: the loud one's ${name}: ${JSON.stringify(sumAnswers(flooded, name))}`)
  }
  const missed = errors > 0 || codes.ratio > GOAL || polls.ratio > GOAL
  console.log(
    `fair-share: share_per_second=${share} ${describe('codes', codes)} ${describe('polls', polls)} flood_per_second=${Math.round(rateOf(flooded))} quiet_errors=${errors} ${missed ? 'MISSED' : 'ok'}`,
  )
  process.exitCode = missed ? 1 : 0
} finally {
  for (const load of loads) load.stop()
  await server.kill('SIGTERM')
  await database.drop()
}

async function register(): Promise<readonly [MadeApplication, MadeApplication]> {
  const context = await createContext(makeConfig(plain))
  try {
    const account = await makeAccount(context.db)
    const make = () => makeApplication(context.db, context.config, account.slug)
    return [await make(), await make()]
  } finally {
    await closeContext(context)
  }
}

/** Codes a second that one process can make, without any limit. */
async function capacity(): Promise<number> {
  const unlimited = await startServerProcess(plain)
  const device = new Device(unlimited.address, loud)
  let made = 0
  const until = performance.now() + 4_000
  const ask = async () => {
    for (; performance.now() < until; made += 1) await device.code()
  }
  await Promise.all(Array.from({ length: 16 }, ask))
  await unlimited.kill('SIGTERM')
  return made / 4
}

/** Codes, and polls of codes that wait for a user: as an application has them that people are about to use. */
async function streamsOf(application: MadeApplication, times: number, network: string): Promise<readonly Stream[]> {
  const device = new Device(server.address, application)
  const networks = Array.from(
    { length: times === 1 ? 60 : 300 },
    (_, at) => `${network}.${at % 256}.${1 + Math.floor(at / 256)}`,
  )
  const waiting: CodeRecord[] = []
  // One after the other: both have only what their limit allows.
  while (waiting.length < 50) waiting.push(await eventually(device))
  const form = (given: Record<string, string>) => `${new URLSearchParams({ ...device.credentials, ...given })}`
  const perSecond = times === 1 ? share / 2 : share * times
  return [
    { name: 'codes', perSecond, path: '/auth/oauth/device/code', bodies: [form({})], networks },
    {
      name: 'polls',
      perSecond: share * times,
      path: '/auth/oauth/device/polling',
      bodies: waiting.map(({ device_code }) => form({ device_code })),
      networks,
    },
  ]
}

async function eventually(device: Device): Promise<CodeRecord> {
  for (;;) {
    const answer = await device.request()
    if (answer.status === 200) return answer.body
    await sleep(200)
  }
}

/** What an application that keeps to the rules is not to meet. */
function failuresIn(answers: Measured['answers']): number {
  const good = ['200', '400 auth_pending', '400 slow_down']
  return Object.entries(answers).reduce((sum, [word, times]) => sum + (good.includes(word) ? 0 : times), 0)
}

type Compared = { readonly before: Measured; readonly during: Measured; readonly ratio: number }

function compare(before: readonly Measured[][], during: readonly Measured[][], name: string): Compared {
  const one = (rounds: readonly Measured[][]): Measured => {
    const of = rounds.flat().filter((each) => each.name === name)
    const [p50Ms, p99Ms] = [median(of.map((each) => each.p50Ms)), median(of.map((each) => each.p99Ms))]
    return { name, sent: of.reduce((sum, each) => sum + each.sent, 0), p50Ms, p99Ms, answers: {} }
  }
  const [quietly, loudly] = [one(before), one(during)]
  return { before: quietly, during: loudly, ratio: loudly.p99Ms / quietly.p99Ms }
}

function describe(name: string, { before, during, ratio }: Compared): string {
  const of = ({ p50Ms, p99Ms }: Measured) => `${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)}`
  return `${name}_p50/p99_ms_before=${of(before)} during=${of(during)} p99_ratio=${ratio.toFixed(2)}`
}

function sumAnswers(rounds: readonly Measured[][], name: string): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const each of rounds.flat().filter((one) => one.name === name)) {
    for (const [word, times] of Object.entries(each.answers)) sum[word] = (sum[word] ?? 0) + times
  }
  return sum
}

function rateOf(rounds: readonly Measured[][]): number {
  return rounds.flat().reduce((sum, { sent }) => sum + sent, 0) / (ROUNDS * roundSeconds)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
