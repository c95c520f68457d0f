/**
 * Checks that a flood of other applications does not delay an application.
 *
 *   npm run verify -- fair-share                 two minutes
 *   npm run verify -- fair-share --seconds 20    short form
 *
 * One built server in a process of its own, PostgreSQL, Redis. PostgreSQL takes 100 ms for each code, so that it is the
 * bottleneck on any machine: the five connections that new codes may use issue fifty a second. A quiet application
 * requests codes and polls at a steady rate, while a hundred codes a second are requested from 256 networks, with as
 * many polls:
 *
 *   limited   by one application, at twenty times its share (CODE_REQUESTS_PER_APPLICATION, here five a second)
 *   crowded   by three applications without a limit, so that the connections are always taken and the queue decides (core/fair-queue.ts)
 *
 * Order is judged, not time, because it does not depend on the machine: how many codes others were given between a
 * request and its answer. With the fair queue these are about as many as there are connections; in order of arrival, as
 * many as are queued. Two controls show that there was an overload: the limited flood has to be refused, and the
 * crowd's own requests have to be late. The milliseconds are printed only.
 *
 * Figures, also with the queue in order of arrival: docs/history.md#0022.
 */
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { Device } from '../rig/device.ts'
import { createTestDatabase, engineUrl } from '../rig/engines/database.ts'
import { type MadeApplication, makeAccount, makeApplication, makeConfig } from '../rig/make.ts'
import { startServerProcess } from '../rig/process/server-process.ts'
import { type Measured, type Stream, startOpenLoad } from './open-load.ts'

const CODE_SECONDS = 0.1

/** Codes per second. */
const SHARE = 5
const QUIET = { codes: 4, polls: 20 }
const FLOOD = 20 * SHARE

/** Late: this many codes of others were issued meanwhile, five per connection. */
const OVERTAKEN_BY = 25

/** Maximum share of late answers for the quiet application. In order of arrival, nearly all are late. */
const MAX_LATE = 0.1

/** Minimum share of the flood's codes that are refused by the limit, or late in the crowd. */
const MIN_NOTICED = 0.5

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '120' } } })
const seconds = Number(values.seconds) / 2
if (!(seconds > 0)) throw new Error('--seconds takes a number')

if (!process.env.DATABASE_URL || !process.env.REDIS_URL) {
  const { databaseUrl, redisUrl } = await startEngines()
  process.env.DATABASE_URL ??= databaseUrl
  process.env.REDIS_URL ??= redisUrl
}

const database = await createTestDatabase()
const plain = { DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL'), TRUST_PROXY: '127.0.0.1' }
const problems: string[] = []
try {
  const [quiet, ...loud] = await register()
  await database.query(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(${CODE_SECONDS}); return new; end $$;
    create trigger slow before insert on device_codes for each row execute function slow()`)
  const limited = await measure('limited', String(60 * SHARE), quiet, loud.slice(0, 1))
  const refused = limited.answers['429 too_many_requests'] ?? 0
  if (refused < MIN_NOTICED * limited.sent) problems.push('limited: the limit did not stop the flood')
  const crowded = await measure('crowded', '0', quiet, loud)
  if (crowded.late < MIN_NOTICED * crowded.sent) problems.push('crowded: the flood was no crowd')
} finally {
  await database.drop()
}
for (const problem of problems) console.error(`fair-share: ${problem}`)
console.log(`fair-share: seconds=${2 * seconds} problems=${problems.length} ${problems.length > 0 ? 'MISSED' : 'ok'}`)
process.exitCode = problems.length > 0 ? 1 : 0

async function register(): Promise<readonly [MadeApplication, ...MadeApplication[]]> {
  const context = await createContext(makeConfig(plain))
  try {
    const account = await makeAccount(context.db)
    const make = () => makeApplication(context.db, context.config, account.slug)
    return [await make(), await make(), await make(), await make()]
  } finally {
    await closeContext(context)
  }
}

/** Judges the quiet application, and returns the outcomes of the flood's codes. */
async function measure(
  name: string,
  perMinute: string,
  quiet: MadeApplication,
  loud: readonly MadeApplication[],
): Promise<Measured> {
  const server = await startServerProcess({
    ...plain,
    CODE_REQUESTS_PER_NETWORK: '0',
    CODE_REQUESTS_PER_APPLICATION: perMinute,
    // Requests shed because the machine is busy say nothing about the queue.
    OVERLOAD_DELAY: '0',
  })
  const streams = await Promise.all([
    streamsOf(server.address, 'quiet', [quiet], QUIET),
    streamsOf(server.address, 'loud', loud, { codes: FLOOD, polls: FLOOD }),
  ])
  const load = startOpenLoad({
    address: server.address,
    streams: streams.flat(),
    connections: 1_000,
    nice: 0,
    overtakenBy: OVERTAKEN_BY,
  })
  try {
    // Warm-up of connections, compiled code and plans; then the crowd starts.
    await load.run(1)
    const [codes, polls, flood] = await load.run(seconds)
    if (!codes || !polls || !flood) throw new Error('the load did not measure every stream')
    for (const each of [codes, polls, flood]) console.log(`fair-share: ${name} ${describe(each)}`)
    for (const each of [codes, polls]) {
      if (each.late > MAX_LATE * each.sent)
        problems.push(`${name}: ${each.late} of ${each.sent} ${each.name} were late`)
      const failures = failuresIn(each)
      if (failures > 0) problems.push(`${name}: ${failures} ${each.name} were refused or broken`)
    }
    return flood
  } finally {
    load.stop()
    await server.kill('SIGTERM')
  }
}

/** Codes, and polls of pending codes. */
async function streamsOf(
  address: string,
  name: 'quiet' | 'loud',
  applications: readonly MadeApplication[],
  perSecond: typeof QUIET,
): Promise<readonly Stream[]> {
  const devices = applications.map((application) => new Device(address, application))
  const form = (fields: Record<string, string>) => `${new URLSearchParams(fields)}`
  // Fewer than the burst allows.
  const waiting = devices.flatMap((device) =>
    Array.from({ length: 5 }, async () => ({ device, ...(await device.code()) })),
  )
  const polls = (await Promise.all(waiting)).map(({ device, device_code }) =>
    form({ ...device.credentials, device_code }),
  )
  const codes = devices.map(({ credentials }) => form({ ...credentials }))
  const networks = Array.from({ length: 256 }, (_, at) => `10.${name === 'quiet' ? 1 : 2}.${at}.1`)
  const at = '/auth/oauth/device'
  return [
    { name: `${name} codes`, perSecond: perSecond.codes, path: `${at}/code`, bodies: codes, networks },
    { name: `${name} polls`, perSecond: perSecond.polls, path: `${at}/polling`, bodies: polls, networks },
  ]
}

/** What an application that keeps to the rules is not to meet. */
function failuresIn({ answers }: Measured): number {
  const good = ['200', '400 auth_pending', '400 slow_down']
  return Object.entries(answers).reduce((sum, [word, times]) => sum + (good.includes(word) ? 0 : times), 0)
}

function describe({ name, sent, late, overtaken, p50Ms, p99Ms, answers }: Measured): string {
  const [middle, max] = [Math.round(p50Ms), Math.round(p99Ms)]
  return `${name}: late=${late}/${sent} overtaken_by=${overtaken} p50_ms=${middle} p99_ms=${max} ${JSON.stringify(answers)}`
}
