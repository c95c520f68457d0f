/**
 * npm run verify -- gate-failover: two server processes on a Redis with replicas, first behind sentinels, then a cluster. A
 * seed chooses what happens to it under load: a master killed or frozen without its last writes having reached a replica,
 * FLUSHALL, or its connections cut. No code is delivered twice, no decision is lost, no answer is wrong.
 *
 *   npm run verify -- gate-failover [--seed 1] [--events 12] [--full]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../../tools/engines.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { createTestDatabase } from '../../rig/engines/database.ts'
import { startCluster } from '../../rig/engines/redis-cluster.ts'
import { startSentinelRedis } from '../../rig/engines/redis-sentinel.ts'
import type { ReplicatedRedis } from '../../rig/engines/replicated-redis.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startLoad } from '../load.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    events: { type: 'string' },
    full: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const events = Number(values.events ?? (values.full ? 400 : 12))

/** The faults that it covers, as the catalogue numbers them. */
const COVERS = ['F15', 'F16', 'F17']

const { databaseUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl

/** mulberry32: the same seed, the same events. */
function createRandom(from: number): () => number {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Fault = (redis: ReplicatedRedis, pauseMs: number) => Promise<void>

const faults: readonly Fault[] = [
  async (redis, pauseMs) => {
    const master = await redis.lag()
    await sleep(pauseMs)
    await master.kill()
    await redis.promotedAfter(master)
  },
  async (redis, pauseMs) => {
    const master = await redis.lag()
    await sleep(pauseMs)
    master.freeze()
    await redis.promotedAfter(master)
    await sleep(pauseMs)
    master.thaw()
  },
  async (redis, pauseMs) => {
    for (const master of await redis.masters()) await master.ask('flushall')
    await sleep(pauseMs)
  },
  async (redis, pauseMs) => {
    for (const master of await redis.masters()) await master.ask('client', 'kill', 'type', 'normal')
    await sleep(pauseMs)
  },
]

async function run(redis: ReplicatedRedis, count: number, random: () => number) {
  const database = await createTestDatabase()
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, POLL_INTERVAL: '1', LOG_LEVEL: 'silent' }
  const config = makeConfig(environment)
  const context = await createContext(config)
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, config, account.slug)
  const user = await makeUser(context.db, account.slug)
  const servers = await Promise.all([1, 2].map(() => startServerProcess({ ...environment, LOG_LEVEL: 'info' })))
  try {
    const addresses = servers.map(({ address }) => address)
    const load = startLoad({ addresses, application, context, user, devices: 12, pendingMayBeOldMs: 2_000 })
    await sleep(1_000)
    for (let event = 0; event < count; event += 1) {
      const [fault, pauseMs] = [faults[Math.floor(random() * faults.length)], 500 + random() * 1_500]
      await fault?.(redis, pauseMs)
      await redis.heal()
    }
    const problems = await load.finish()
    const [row] = await database.query<{ twice: number }>(
      'select count(*)::int as twice from (select from grants group by device_code_id having count(*) > 1) more',
    )
    return { problems, delays: load.delays(), double: row?.twice ?? 0, totals: load.totals() }
  } finally {
    await Promise.all(servers.map((server) => server.kill('SIGTERM')))
    await closeContext(context)
    await database.drop()
  }
}

const random = createRandom(seed)
const found = []
for (const start of [startSentinelRedis, () => startCluster(1)]) {
  const redis = await start()
  try {
    found.push(await run(redis, Math.ceil(events / 2), random))
  } finally {
    await redis.stop()
  }
}
const problems = found.flatMap((each) => each.problems)
const delays = found.flatMap((each) => each.delays).sort((one, other) => one - other)
const at = (part: number) => Math.round(delays[Math.min(delays.length - 1, Math.floor(delays.length * part))] ?? 0)
const lost = problems.filter((problem) => /device heard/.test(problem)).length
const wrong = problems.length - lost + found.reduce((sum, each) => sum + each.totals.slowDowns, 0)
const double = found.reduce((sum, each) => sum + each.double, 0)
for (const problem of problems.slice(0, 20)) console.error(`gate-failover: ${problem}`)
console.log(
  `gate-failover: seed=${seed} events=${2 * Math.ceil(events / 2)} covers=${COVERS.join(',')} flows=${delays.length} double=${double} lost=${lost} wrong=${wrong} recovery_p50=${at(0.5)}ms p99=${at(0.99)}ms`,
)
process.exitCode = double + lost + wrong > 0 || delays.length === 0 ? 1 : 0
