/**
 * Measures one server with a million pending codes, and the cost of each.
 *
 *   npm run verify:million                                      a million codes, a minute of polls
 *   npm run verify:million -- --codes 20000 --seconds 5         short form; less is refused
 *
 * Fills PostgreSQL and a private Redis, measures both, then polls at random through one built server. First for a few seconds
 * with every hint alive: the cost of a poll that ends at the gate. Then, measured, with an empty gate: with a million codes a
 * random poll comes long after the previous hint has expired, so nearly every poll has to query PostgreSQL.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { createTestDatabase, engineUrl } from '../rig/engines/database.ts'
import { makeAccount, makeApplication, makeConfig } from '../rig/make.ts'
import { residentMb, startServerProcess } from '../rig/process/server-process.ts'
import { fillGate } from './gate-keys.ts'
import { placePendingCodes } from './pending-codes.ts'
import { type Load, type LoadResult, runLoad } from './poll-load.ts'
import { startPrivateRedis } from './private-redis.ts'

/**
 * Upper limits. 128 connections keep the server busy all the time, so the median latency shows the speed of
 * the machine, and the p99 is judged as a multiple of it: 4.3 and 4.9 in two short forms. The
 * server's memory grew to 336 MB with a million codes; what it keeps in process does not depend on how many there are.
 */
const GOALS = {
  postgres_bytes_per_code: 400,
  redis_bytes_per_code: 300,
  statements_per_poll: 0.1,
  p99_by_p50: 8,
  server_rss_mb: 400,
} as const

/** With fewer, the result says nothing about many codes, and a p99 of few polls is random. */
const MIN = { codes: 20_000, seconds: 5, polls: 5_000 } as const

/** Longer than the measurement: no code may expire while it is polled. */
const LIFETIME_SECONDS = 3_600

const { values } = parseArgs({
  options: { codes: { type: 'string', default: '1000000' }, seconds: { type: 'string', default: '60' } },
})
const count = Number(values.codes)
const seconds = Number(values.seconds)
if (!(Number.isInteger(count) && count >= MIN.codes && seconds >= MIN.seconds))
  throw new Error(`--codes takes ${MIN.codes} or more, --seconds ${MIN.seconds} or more`)

if (!process.env.DATABASE_URL) process.env.DATABASE_URL = (await startEngines()).databaseUrl

const database = await createTestDatabase()
const redis = await startPrivateRedis()
try {
  const environment = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    DEVICE_CODE_LIFETIME: String(LIFETIME_SECONDS),
  }
  const context = await createContext(makeConfig(environment))
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, context.config, account.slug)
  const { codes, bytes: postgresBytes } = await placePendingCodes(context, database, application.id, count)
  await closeContext(context)
  say(`${count} codes are in PostgreSQL: ${postgresBytes} bytes`)
  const redisBytes = await fillGate(redis, codes.ids)
  say(`both keys of each are in Redis: ${redisBytes} bytes`)

  const load = { application, texts: codes.texts, textLength: codes.textLength }
  const { polled, statements, rssMb } = await pollThroughServer(environment, load)

  const result = {
    verify: 'million',
    codes: count,
    postgres_bytes_per_code: round(postgresBytes / count, 1),
    redis_bytes_per_code: round(redisBytes / count, 1),
    polls: polled.polls,
    polls_per_second: round(polled.polls / polled.seconds, 0),
    statements_per_poll: round(statements / polled.polls, 4),
    p50_ms: round(polled.p50Ms, 1),
    p99_ms: round(polled.p99Ms, 1),
    p99_by_p50: round(polled.p99Ms / polled.p50Ms, 1),
    server_rss_mb: rssMb,
  }
  for (const [name, goal] of Object.entries(GOALS)) {
    const is = result[name as keyof typeof GOALS]
    if (is <= goal) continue
    say(`MISSED: ${name} is ${is}, the goal is ${goal}`)
    process.exitCode = 1
  }
  console.log(JSON.stringify(result))
} finally {
  redis.stop()
  await database.drop()
}

async function pollThroughServer(environment: Record<string, string>, load: Omit<Load, 'address' | 'seconds'>) {
  const server = await startServerProcess(environment)
  const { address } = server
  try {
    const rssBefore = residentMb(server.pid)
    const hinted = onlyPending(await runLoad({ ...load, address, seconds: Math.max(1, seconds / 6) }))
    say(`every hint alive: ${describe(hinted)}`)

    await redis.forgetEverything()
    await database.query('select pg_stat_force_next_flush()')
    const before = await countStatements()
    const polled = onlyPending(await runLoad({ ...load, address, seconds, minPolls: MIN.polls }))
    const rssMb = residentMb(server.pid)
    say(`empty gate: ${describe(polled)}`)
    say(`resident memory of the server: ${rssBefore} MB before, ${rssMb} MB after`)
    await server.kill('SIGTERM')
    // A connection flushes its statistics when it ends.
    await sleep(1_000)
    return { polled, rssMb, statements: (await countStatements()) - before }
  } finally {
    await server.kill('SIGTERM')
  }
}

/** No code was decided: any other answer is a mistake. */
function onlyPending(result: LoadResult): LoadResult {
  const wrong = [...result.answers].filter(([word]) => word !== 'auth_pending' && word !== 'slow_down')
  if (wrong.length > 0) throw new Error(`polls of pending codes were answered ${JSON.stringify(wrong)}`)
  return result
}

/** All transactions of the database, including the server's and autovacuum's. */
async function countStatements(): Promise<number> {
  const client = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
  await client.connect()
  try {
    const { rows } = await client.query(
      'select xact_commit + xact_rollback as count from pg_stat_database where datname = $1',
      [new URL(database.url).pathname.slice(1)],
    )
    return Number(rows[0]?.count)
  } finally {
    await client.end()
  }
}

function describe({ polls, seconds: took, p50Ms, p99Ms, answers }: LoadResult): string {
  const words = [...answers].map(([word, times]) => `${word} ${times}`).join(', ')
  return `${round(polls / took, 0)} polls per second, p50 ${round(p50Ms, 1)} ms, p99 ${round(p99Ms, 1)} ms (${words})`
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

function say(line: string): void {
  console.log(line)
}
