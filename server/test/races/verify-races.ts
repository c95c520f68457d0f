/**
 * npm run verify -- races: nothing is issued twice and nothing is lost under concurrency. Three server processes on
 * one PostgreSQL and one Redis; users decide from this process, through the flows that the web interface calls. The history
 * of every code is recorded, and has to be one that the contract allows.
 *
 *   npm run verify -- races                                   2,000 codes for the race for credentials, 400 for each of the others
 *   npm run verify -- races --codes 500 --decisions 100    the short form; less than that is refused, because it shows little
 *   npm run verify -- races --codes 10000 --polls 64 --decisions 5000 --processes 4    as the catalogue of attacks asks (DC-01, DC-07)
 */
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { RecordedCodes } from '../history/recorded-code.ts'
import { raceForCredentials } from './credentials-race.ts'
import { raceGrantAgainstExpiry, raceGrantAgainstReject, raceTwoAccounts } from './decision-races.ts'
import { openInstallation } from './race-installation.ts'
import type { RaceTrack } from './race-track.ts'

const MIN_CODES = 500
const MIN_DECISIONS = 100

const { values } = parseArgs({
  options: {
    codes: { type: 'string', default: '2000' },
    decisions: { type: 'string', default: '400' },
    processes: { type: 'string', default: '3' },
    polls: { type: 'string', default: '32' },
  },
})
const processes = Number(values.processes)
/** After the decision was answered, over all processes at once. */
const pollsPerCode = Number(values.polls)
const codes = Number(values.codes)
const decisions = Number(values.decisions)
if (!(codes >= MIN_CODES && decisions >= MIN_DECISIONS))
  throw new Error(`--codes takes ${MIN_CODES} or more, --decisions ${MIN_DECISIONS} or more`)

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const installation = await openInstallation()
const servers = await installation.startServers(processes)
const shortLived = await installation.startServers(processes, { DEVICE_CODE_LIFETIME: '6' })
const recorded = new RecordedCodes()
const track = (racing: typeof servers): RaceTrack => ({
  ...installation,
  addresses: racing.map((each) => each.address),
  codes: recorded,
})

try {
  const problems = [
    await raceGrantAgainstReject(track(servers), decisions),
    await raceGrantAgainstExpiry(track(shortLived), decisions),
    await raceTwoAccounts(track(servers), decisions),
    await raceForCredentials(track(servers), { codes, pollsPerCode }),
  ].flat()
  problems.push(...recorded.judge('races'))
  for (const problem of problems.slice(0, 20)) console.error(`races: ${problem}`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await Promise.all([...servers, ...shortLived].map((each) => each.kill('SIGTERM')))
  await installation.close()
}
