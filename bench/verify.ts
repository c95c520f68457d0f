/**
 * Verifications per second through GET /auth/verify on one server process, of credentials in use, against a bare node:http
 * server that gives the very same reply: status, headers and length are copied from an answer of the real one. And how often
 * PostgreSQL is asked meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenSetOf } from '../server/src/flows/grants/issue.ts'
import { askVerify, placeIssuedGrant } from '../server/test/races/issued-grants.ts'
import { engineUrl, type TestDatabase } from '../server/test/rig/engines/database.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import { CONNECTIONS, compareWithBare, cpuSeconds } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { redisPid } from './machine.ts'

const PATH = '/auth/verify'
const MAX_STATEMENTS_PER_VERIFICATION = 0.01

/** In use at the same time. */
const CREDENTIALS = 1_000

/** An idle connection of PostgreSQL reports its statistics within ten seconds. */
const IDLE_REPORT_MS = 11_000

export const benchVerify: Benchmark = async (run) => {
  const service = await startTestService({}, { listen: false })
  try {
    const credentials = await issueCredentials(service)
    await run({ measure: () => measure(service, credentials), database: service.database })
  } finally {
    await service.stop()
  }
}

async function issueCredentials({ context, account, user, application }: TestService): Promise<string[]> {
  const about = { accountId: account.id, userId: user.id, applicationId: application.id }
  const credentials: string[] = []
  while (credentials.length < CREDENTIALS) {
    const grant = await placeIssuedGrant(context, { ...about, variant: 'token_set' })
    credentials.push(tokenSetOf(context, grant, grant.issuedAt, grant.issuedAt).accessToken)
  }
  return credentials
}

async function measure({ database }: TestService, credentials: readonly string[]): Promise<Measured> {
  const server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') })
  try {
    for (const credential of credentials) {
      const status = await askVerify(server.address, credential)
      if (status !== 200) throw new Error(`a new credential was answered ${status}`)
    }
    const authorization = `Bearer ${credentials[0]}`
    await sleep(IDLE_REPORT_MS)
    const before = await countStatements(database)
    const load = {
      path: PATH,
      requests: scriptOf(credentials),
      expected: "status == 200 and headers['x-latchkey-user']",
      refused: 'none',
    } as const
    const pids = [server.pid, await redisPid()]
    const ours = { address: server.address, cpuSeconds: () => cpuSeconds(pids) }
    const compared = await compareWithBare(ours, load, { method: 'GET', headers: { authorization } })
    await server.kill('SIGTERM')
    // A connection flushes its statistics when it ends.
    await sleep(1_000)
    const statements = (await countStatements(database)) - before
    const each = Number((statements / compared.ours_requests).toFixed(6))
    return {
      connections: CONNECTIONS,
      credentials: credentials.length,
      ...compared,
      statements,
      statements_per_verification: each,
      missed:
        each < MAX_STATEMENTS_PER_VERIFICATION
          ? []
          : [`${statements} statements for ${compared.ours_requests} verifications`],
    }
  } finally {
    await server.kill('SIGTERM')
  }
}

/** All transactions of the database, including the server's and autovacuum's. */
async function countStatements(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  )
  return Number(row?.count)
}

/** Each request has the next credential. */
function scriptOf(credentials: readonly string[]): string {
  return `local credentials = {${credentials.map((credential) => `'${credential}'`).join(',')}}
local requests = {}
local at = 0
function init()
  for index, credential in ipairs(credentials) do
    requests[index] = wrk.format('GET', nil, { Host = wrk.headers['Host'], Authorization = 'Bearer ' .. credential })
  end
end
function request() at = at % #requests + 1 return requests[at] end
`
}
