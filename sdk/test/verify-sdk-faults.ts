/**
 * npm run verify -- sdk-faults [--flows N --seed N]: devices with this library and users with a browser, with a bad network between
 * the devices and the service. Every granted device ends up with valid credentials, none gets slow_down, and
 * no code is requested that the user did not ask for. `--seed` repeats faults and decisions; the timing is the machine's.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { askMe } from '../../server/test/rig/connect.ts'
import { startTestService } from '../../server/test/rig/service.ts'
import { digestOf } from '../../server/test/rig/witness.ts'
import { startEngines } from '../../tools/engines.ts'
import type { DeviceSession, Variant } from '../src/index.ts'
import { createChance } from './rig/chance.ts'
import { type Choice, type Exchange, type Fault, startFaultProxy } from './rig/fault-proxy.ts'
import { importSdk } from './rig/packed.ts'

/** Concurrent devices. */
const LANES = 100

/** Faults in a hundred exchanges. The rest succeeds. */
const SHARES: readonly [Fault, number][] = [
  ['question_lost', 3],
  ['answer_lost', 6],
  ['head_cut', 3],
  ['body_cut', 4],
  ['answer_withheld', 1],
  ['question_delayed', 4],
  ['answer_delayed', 5],
  ['answer_doubled', 3],
  ['answer_doubled_later', 2],
  ['question_doubled', 2],
  ['bad_gateway', 3],
]

const { values } = parseArgs({
  options: {
    flows: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(randomInt(2 ** 32)) },
  },
})
const [count, seed] = [Number(values.flows), Number(values.seed)]
if (!(Number.isInteger(count) && count > 0 && Number.isInteger(seed)))
  throw new Error('--flows and --seed take numbers')
process.stdout.write(`sdk-faults: seed=${seed}\n`)

const chance = createChance(seed)
const problems: string[] = []
const figures = { flows: 0, granted: 0, rejected: 0, expired: 0, working: 0, presses: 0, codes: 0, polls: 0 }
const more = { faults: 0, lostOutcomes: 0, slowDowns: 0 }

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
const { createClient, isLatchkeyError } = await importSdk()
const service = await startTestService({
  REDIS_URL: process.env.REDIS_URL ?? redisUrl,
  POLL_INTERVAL: '1',
  DEVICE_CODE_LIFETIME: '45',
  LOG_LEVEL: 'silent',
})
/** Requests and answers of the service, before a fault changed them. */
const exchanges: Exchange[] = []
try {
  let next = 0
  const lane = async () => {
    for (let flow = next++; flow < count; flow = next++) {
      await sleep(chance() * 500)
      // A device has its own connections: a repeated answer never reaches another device.
      const proxy = await startFaultProxy(service.address, chooseFault)
      await oneFlow(flow, proxy.address).catch((error) => problems.push(`flow ${flow}: ${error}`))
      exchanges.push(...proxy.exchanges)
      await proxy.close()
    }
  }
  await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane))
  review()
} finally {
  await service.stop()
}
for (const problem of problems.slice(0, 20)) process.stderr.write(`sdk-faults: ${problem}\n`)
const words = Object.entries({ ...figures, ...more, problems: problems.length }).map(
  ([name, figure]) => `${name}=${figure}`,
)
process.stdout.write(`sdk-faults: seed=${seed} ${words.join(' ')}\n`)
process.exit(problems.length > 0 ? 1 : 0)

function chooseFault(): Choice {
  let roll = chance() * 100
  for (const [fault, share] of SHARES) {
    roll -= share
    if (roll < 0) return { fault, delayMs: chance() * (fault === 'answer_doubled_later' ? 20 : 3_000) }
  }
  return { fault: 'none' }
}

/** One device, one user. Whatever fails before a code is shown, the user presses the button again. */
async function oneFlow(flow: number, baseUrl: string): Promise<void> {
  const { id, secret } = service.application
  const client = createClient({ baseUrl, appId: id, appSecret: secret })
  const variant: Variant = chance() < 0.5 ? 'token_set' : 'access_key'
  let session: DeviceSession | null = null
  while (!session) {
    figures.presses += 1
    session = await client.device.start({ variant }).catch((error) => {
      if (!isLatchkeyError(error)) throw error
      return null
    })
  }
  const wish: Truth = chance() < 0.9 ? 'granted' : chance() < 0.6 ? 'rejected' : 'expired'
  const [outcome] = await Promise.all([outcomeOf(session), decide(session.userCode, wish)])
  const truth = await truthOf(session.userCode)
  figures.flows += 1
  figures[truth] += 1
  if (outcome !== truth) return void problems.push(`flow ${flow} (${variant}) was ${truth} and ended ${outcome}`)
  if (truth !== 'granted') return
  const status = await statusOf(await client.bearer())
  if (status === 200) figures.working += 1
  else problems.push(`flow ${flow} (${variant}) got a credential that is answered ${status}`)
}

/** The state of a credential in the service, retried while its engines are busy. */
async function statusOf(bearer: string): Promise<number> {
  for (let attempt = 0; ; attempt += 1) {
    const { status } = await askMe(service, bearer)
    if (status !== 503 || attempt === 60) return status
    await sleep(500)
  }
}

type Truth = 'granted' | 'rejected' | 'expired'

/** A user who retries while the page says that the service is busy, until the code expires. */
async function decide(userCode: string, wish: Truth): Promise<void> {
  if (wish === 'expired') return
  await sleep(chance() * 8_000)
  for (let attempt = 0; attempt < 30; attempt += 1) {
    try {
      await (wish === 'granted' ? service.grant(userCode) : service.reject(userCode))
      return
    } catch {
      await sleep(500)
    }
  }
}

/** The outcome of a code in PostgreSQL. */
async function truthOf(userCode: string): Promise<Truth> {
  const [row] = await service.database.query<{ granted: boolean; rejected: boolean | null }>(
    `select grant_id is not null as granted, status = 'rejected' or outcome = 'rejected' as rejected
     from device_codes where user_code_digest = $1 order by created_at desc limit 1`,
    [digestOf(service, userCode)],
  )
  if (row?.granted) return 'granted'
  return row?.rejected ? 'rejected' : 'expired'
}

/** An application that cannot reach the service for long may wait again: nothing was decided. */
async function outcomeOf(session: DeviceSession): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await session.wait()
      return 'granted'
    } catch (error) {
      if (isLatchkeyError(error, 'auth_rejected')) return 'rejected'
      if (isLatchkeyError(error, 'code_expired')) return 'expired'
      const passing = isLatchkeyError(error, 'network') || isLatchkeyError(error, 'unavailable')
      if (!passing || attempt === 3) return String(error)
    }
  }
}

function review(): void {
  const codes = exchanges.filter(({ path }) => path.endsWith('/code'))
  const polls = exchanges.filter(({ path }) => path.endsWith('/polling'))
  figures.codes = codes.length
  figures.polls = polls.length
  more.faults = exchanges.filter(({ fault }) => fault !== 'none').length
  const unheard: readonly Fault[] = ['answer_lost', 'head_cut', 'body_cut', 'answer_withheld', 'bad_gateway']
  more.lostOutcomes = polls.filter(({ answer, fault }) => unheard.includes(fault) && answer.includes('"access_')).length
  more.slowDowns = polls.filter(({ answer }) => answer.includes('"slow_down"')).length
  if (more.slowDowns > 0) problems.push(`${more.slowDowns} polls were answered slow_down`)
  if (codes.length > figures.presses)
    problems.push(`${codes.length} codes for ${figures.presses} presses of the button`)
  if (figures.flows !== count) problems.push(`${figures.flows} flows ended of ${count}`)
  // A sixth of all outcomes is lost. With fifty flows, none is lost in one run of thousands; with a hundred, in one of millions.
  if (more.lostOutcomes === 0) problems.push('no outcome was lost on the way: the proof proves nothing')
}
