/** A transaction that stays open while users decide: processes do not repeat to Redis what they have told it. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { type OwnRedis, startOwnRedis } from '../../rig/engines/own-redis.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { sized } from '../../rig/size.ts'

const PROCESSES = sized(8, 3)
const SECONDS = sized(60, 12)
const DECISIONS_PER_SECOND = 20

let database: TestDatabase
let own: OwnRedis
let redis: Redis
let servers: readonly ServerProcess[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  own = await startOwnRedis()
  redis = new Redis(own.url)
  const environment = { DATABASE_URL: database.url, REDIS_URL: own.url }
  servers = await Promise.all(Array.from({ length: PROCESSES }, () => startServerProcess(environment)))
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill('SIGKILL')))
  redis.disconnect()
  await own.stop()
  await database.drop()
})

/** Commands per second that Redis executes while users decide at a steady rate. */
async function measure(seconds: number): Promise<number> {
  const before = await commands()
  for (let second = 0; second < seconds; second += 1) {
    const until = performance.now() + 1_000
    for (let each = 0; each < DECISIONS_PER_SECOND; each += 1) await decide()
    await sleep(Math.max(0, until - performance.now()))
  }
  return ((await commands()) - before) / seconds
}

async function commands(): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1])
}

async function decide(): Promise<void> {
  await database.query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, device_code_id)
     values (now(), 'code.rejected', 'service', 'test', 'job', $1)`,
    [randomUUID()],
  )
}

it(`F53: with ${PROCESSES} processes and a transaction open for ${SECONDS} s, Redis executes less than twice the usual commands`, async () => {
  const usual = await measure(SECONDS / 2)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin; select pg_current_xact_id()')
  const meanwhile = await measure(SECONDS)
  await client.query('rollback')
  await client.end()
  console.log(
    `open-transaction: processes=${PROCESSES} seconds=${SECONDS} usual=${Math.round(usual)}/s meanwhile=${Math.round(meanwhile)}/s`,
  )
  expect(usual).toBeGreaterThan((PROCESSES * DECISIONS_PER_SECOND) / 2)
  expect(meanwhile).toBeLessThan(2 * usual)
})
