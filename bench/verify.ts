/**
 * Verifications per second through GET /auth/verify on one server process, of credentials in use, against a bare node:http
 * server that gives the very same reply: status, headers and length are copied from an answer of the real one. Both driven by
 * wrk, alternating in one run: only the ratio carries to another machine. And how often PostgreSQL is asked meanwhile.
 *
 * `ratio` is of the medians per second. On a machine that others use as well, every round is as fast as they leave it, for
 * both alike; `ratio_by_cpu` compares the processor time that one answer took, which they disturb less.
 *
 *   npm run bench:verify
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenSetOf } from '../server/src/flows/issue.ts'
import { placeIssuedGrant } from '../server/test/races/issued-grants.ts'
import { engineUrl } from '../server/test/rig/database.ts'
import { post } from '../server/test/rig/device.ts'
import { startServerProcess } from '../server/test/rig/server-process.ts'
import { startTestService } from '../server/test/rig/service.ts'
import { startEngines } from '../tools/engines.ts'
import type { Reply } from './bare-server.ts'

const GOALS = { ratio: 0.6, statements_per_verification: 0.01 } as const

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 21)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1)
const CONNECTIONS = 64
/** In use at the same time. */
const CREDENTIALS = 1_000

/** A connection of PostgreSQL that has nothing to do reports within ten seconds what it did: here, all that was placed and warmed. */
const IDLE_REPORT_MS = 11_000

/** Of Linux, per second, whatever the machine. */
const CLOCK_TICKS = 100

/** Every answer must be that of a valid credential. */
const CHECK = `unexpected = 0
local threads = {}
function response(status, headers, body)
  if status ~= 200 or not headers['x-latchkey-user'] then unexpected = unexpected + 1 end
end
function setup(thread) threads[#threads + 1] = thread end
function done() io.write('unexpected=' .. tostring(threads[1]:get('unexpected')) .. '\\n') end
`

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const service = await startTestService({}, { listen: false })
const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
try {
  const credentials = await issueCredentials()
  const [checking, plain] = [join(folder, 'checking.lua'), join(folder, 'plain.lua')]
  writeFileSync(checking, wrkScript(credentials) + CHECK)
  writeFileSync(plain, wrkScript(credentials))

  const { bare, verify, statements } = await compare(credentials[0] ?? '', checking, plain)
  const [barePerSecond, verifyPerSecond] = [median(bare.perSecond), median(verify.perSecond)]
  const verifications = verify.requests
  const result = {
    bench: 'verify',
    connections: CONNECTIONS,
    credentials: CREDENTIALS,
    rounds: ROUNDS,
    bare_per_second: Math.round(barePerSecond),
    verify_per_second: Math.round(verifyPerSecond),
    ratio: Number((verifyPerSecond / barePerSecond).toFixed(3)),
    ratio_by_cpu: Number((verify.requests / verify.cpu / (bare.requests / bare.cpu)).toFixed(3)),
    ratio_goal: GOALS.ratio,
    verifications,
    statements,
    statements_per_verification: Number((statements / verifications).toFixed(6)),
    statements_goal: GOALS.statements_per_verification,
  }
  // The ratio depends on who else is using the machine; what is asked of PostgreSQL does not.
  if (result.ratio < GOALS.ratio) console.log(`MISSED: the ratio is ${result.ratio}, the goal is ${GOALS.ratio}`)
  if (result.statements_per_verification >= GOALS.statements_per_verification) {
    console.log(`MISSED: ${statements} statements for ${verifications} verifications`)
    process.exitCode = 1
  }
  console.log(JSON.stringify(result))
} finally {
  rmSync(folder, { recursive: true, force: true })
  await service.stop()
}

async function issueCredentials(): Promise<string[]> {
  const { context, account, user, application } = service
  const about = { accountId: account.id, userId: user.id, applicationId: application.id }
  const credentials: string[] = []
  while (credentials.length < CREDENTIALS) {
    const grant = await placeIssuedGrant(context, { ...about, variant: 'token_set' })
    credentials.push(tokenSetOf(context, grant, grant.issuedAt).accessToken)
  }
  return credentials
}

type Driven = {
  readonly address: string
  readonly pid: number
  readonly perSecond: number[]
  requests: number
  cpu: number
}

async function compare(credential: string, checking: string, plain: string) {
  const server = await startServerProcess({ DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL') })
  const reply = await replyOf(server.address, credential)
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare-server.ts'), JSON.stringify(reply)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const bareAddress = String((await once(child.stdout, 'data'))[0]).trim()
    const bare: Driven = { address: bareAddress, pid: child.pid ?? 0, perSecond: [], requests: 0, cpu: 0 }
    const verify: Driven = { address: server.address, pid: server.pid, perSecond: [], requests: 0, cpu: 0 }
    // Warms both up, and looks at every answer. Looking costs wrk more than asking, so the measured rounds only count.
    for (const { address } of [bare, verify]) wrk(address, checking)

    await sleep(IDLE_REPORT_MS)
    const before = await countStatements()
    for (let round = 0; round < ROUNDS; round += 1) for (const each of [bare, verify]) drive(each, plain)
    await server.kill('SIGTERM')
    // A connection reports its last statements when it ends.
    await sleep(1_000)
    return { bare, verify, statements: (await countStatements()) - before }
  } finally {
    child.kill()
    await server.kill('SIGTERM')
  }
}

/** What node:http adds by itself is left to node:http. */
async function replyOf(address: string, credential: string): Promise<Reply> {
  const answer = await post(address, '/auth/verify', {
    method: 'GET',
    headers: { authorization: `Bearer ${credential}` },
  })
  if (answer.status !== 200) throw new Error(`a new credential was answered ${answer.status} ${answer.text}`)
  const { date, connection, 'keep-alive': kept, 'content-length': length, ...headers } = answer.headers
  return { status: answer.status, headers: headers as Record<string, string>, body: answer.text }
}

function drive(driven: Driven, script: string): void {
  const before = cpuSeconds(driven.pid)
  const { perSecond, requests } = wrk(driven.address, script)
  driven.perSecond.push(perSecond)
  driven.requests += requests
  driven.cpu += cpuSeconds(driven.pid) - before
}

/** User and system time of a process so far: fields 14 and 15 of proc(5), stat; the name in field 2 may hold spaces. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS
}

function wrk(address: string, script: string): { perSecond: number; requests: number } {
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, '-s', script, `${address}/auth/verify`]
  const output = execFileSync('wrk', args, { encoding: 'utf8' })
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1])
  const requests = Number(/(\d+) requests in/.exec(output)?.[1])
  const unexpected = Number(/unexpected=(\d+)/.exec(output)?.[1] ?? 0)
  if (!(perSecond > 0) || unexpected > 0 || /Non-2xx|Socket errors/.test(output)) throw new Error(`wrk: ${output}`)
  return { perSecond, requests }
}

/** Every transaction of the database, ours and the server's and autovacuum's: nothing is subtracted. */
async function countStatements(): Promise<number> {
  const [row] = await service.database.query<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  )
  return Number(row?.count)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** Each request brings the next credential. */
function wrkScript(credentials: readonly string[]): string {
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
