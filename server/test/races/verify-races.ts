/**
 * npm run verify:races: nothing is spent twice and nothing is lost when everybody comes at once. Three server processes on
 * one PostgreSQL and one Redis; users decide from this process, through the flows that the web interface calls.
 * `--codes 500` is the short form.
 */
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { createTestDatabase } from '../rig/database.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../rig/make.ts'
import { startServerProcess } from '../rig/server-process.ts'
import { raceForCredentials } from './credentials-race.ts'
import { raceGrantAgainstExpiry, raceGrantAgainstReject, raceTwoAccounts } from './decision-races.ts'
import type { RaceTrack } from './race-track.ts'

const PROCESSES = 3

const { values } = parseArgs({ options: { codes: { type: 'string', default: '2000' } } })
const codes = Number(values.codes)
const decisions = codes / 5

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const database = await createTestDatabase()
const environment = { DATABASE_URL: database.url, REDIS_URL: process.env.REDIS_URL }
const config = makeConfig(environment)
const context = await createContext(config)
const account = await makeAccount(context.db)
const other = await makeAccount(context.db)
const application = await makeApplication(context.db, config, account.slug)
const users = [await makeUser(context.db, account.slug), await makeUser(context.db, other.slug)] as const

const start = (more: Record<string, string> = {}) =>
  Promise.all(Array.from({ length: PROCESSES }, () => startServerProcess({ ...environment, ...more })))
const servers = await start()
const shortLived = await start({ DEVICE_CODE_LIFETIME: '2' })
const track = (processes: typeof servers): RaceTrack => ({
  addresses: processes.map((each) => each.address),
  application,
  context,
  database,
  users,
})

try {
  const problems = [
    await raceGrantAgainstReject(track(servers), decisions),
    await raceGrantAgainstExpiry(track(shortLived), decisions),
    await raceTwoAccounts(track(servers), decisions),
    await raceForCredentials(track(servers), { codes, pollsPerCode: 32 }),
  ].flat()
  for (const problem of problems.slice(0, 20)) console.error(`races: ${problem}`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await Promise.all([...servers, ...shortLived].map((each) => each.kill('SIGTERM')))
  await closeContext(context)
  await database.drop()
}
