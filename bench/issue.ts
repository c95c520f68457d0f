/**
 * The first poll after the user's yes, which issues a token set: polls per second of one server process, against pgbench,
 * which runs the statements of such a poll and nothing else. The statements are those that the poll sent, recorded.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { settleDelivery } from '../server/src/flows/device/deliver.ts'
import { pollDeviceCode } from '../server/src/flows/device/poll.ts'
import { runWithin } from '../server/src/http/request-scope.ts'
import { signDeviceCode } from '../server/src/secrets/device-code-text.ts'
import { createRequestId } from '../server/src/secrets/random.ts'
import { engineUrl } from '../server/test/rig/engines/database.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import { postgresProgram } from '../tools/engine-processes.ts'
import { cpuSeconds, cpuSecondsOfTree, drive, postingScript, type Round, summarise } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { postgresPid, redisPid } from './machine.ts'
import { POLLING, requestForms } from './poll.ts'

/** In a partition of their own. */
const EXPIRES = '2030-01-01T00:30:00.000Z'
const PARTITION = '2030-01-01T00:00:00Z'

/** Connections of pgbench: as many as a server process has. */
const CLIENTS = 10

/** Of the devices: more, so that the server always has a poll to answer. */
const CONNECTIONS = 32

/** A poll for which PostgreSQL takes too long is answered `auth_pending`. More of them than one in a hundred are a missed goal. */
const MAX_REFUSED = 0.01

const ROUNDS = 15
/** Long enough that the start of pgbench's connections, and their first statements, do not count. */
const ROUND_SECONDS = 3

/** Codes of a warm-up. A round gets SPARE_FACTOR times as many as its warm-up used: inserting more would load PostgreSQL. */
const WARM_UP_CODES = 12_000
const SPARE_FACTOR = 2

export const benchIssue: Benchmark = async (run) => {
  const service = await startTestService({}, { listen: false })
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
  try {
    await service.database.query(`select make_device_code_partition('${PARTITION}')`)
    const granted = createGranted(service)
    const script = join(folder, 'issue.sql')
    writeFileSync(script, scriptOf(await recordIssue(service, granted)))
    await run({ measure: () => measure(service, granted, folder, script), database: service.database })
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await service.stop()
  }
}

type Granted = {
  /** Inserts codes with grants; returns the number of the first. */
  place(count: number): Promise<number>
  textOf(n: number): string
}

const ID = "('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
const GRANT_ID = "('grt_' || lpad(n::text, 20, '0'))"
const idOf = (n: number) => `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
const grantIdOf = (n: number) => `grt_${String(n).padStart(20, '0')}`

function createGranted({ config, database, account, user, application }: TestService): Granted {
  let next = 1
  return {
    place: async (count) => {
      const first = next
      next += count
      const numbers = `generate_series(${first}::int8, ${next - 1}::int8) n`
      await database.query(`insert into grants (id, secret, account_id, user_id, application_id, variant, scopes,
          device_code_id, key_id, created_at)
        select ${GRANT_ID}, gen_random_uuid(), '${account.id}', '${user.id}', '${application.id}', 'token_set',
          '{orders:read}', ${ID}, ${config.keys.signing.id}, now() from ${numbers}`)
      await database.query(`insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id,
          user_code_digits, user_code_digest, scopes, state, claimed_by, decided_at, grant_id)
        select ${ID}, '${EXPIRES}', now(), '${application.id}', 'token_set', 'accepted', ${config.keys.signing.id},
          9, uuid_send(${ID}), '{orders:read}', '', '${user.id}', now(), ${GRANT_ID} from ${numbers}`)
      return first
    },
    textOf: (n) =>
      signDeviceCode(config.keys, {
        id: idOf(n),
        applicationId: application.id,
        variant: 'token_set',
        expiresAt: Date.parse(EXPIRES),
        intervalSeconds: 5,
      }),
  }
}

type Recorded = { readonly n: number; readonly statements: readonly { text: string; values: readonly unknown[] }[] }

/** What one poll and the confirmation of its delivery send to PostgreSQL. The first one also opens connections. */
async function recordIssue(service: TestService, granted: Granted): Promise<Recorded> {
  const first = await granted.place(2)
  await issue(service, granted.textOf(first))
  const statements: { text: string; values: readonly unknown[] }[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [statement, values] = given as [string | pg.QueryConfig, unknown[] | undefined]
    const text = typeof statement === 'string' ? statement : statement.text
    statements.push({ text, values: (typeof statement === 'string' ? values : (statement.values ?? values)) ?? [] })
    return Reflect.apply(query, this, given)
  } as typeof query
  try {
    await issue(service, granted.textOf(first + 1))
  } finally {
    pg.Client.prototype.query = query
  }
  return { n: first + 1, statements }
}

/** In the scope of a request, as by the server: its id is part of a transaction. */
function issue({ context, application }: TestService, deviceCode: string): Promise<void> {
  const scope = { id: createRequestId(), route: POLLING, fromProxy: false, heldMs: 0 }
  const { id: applicationId, secret } = application
  return runWithin(scope, async () => {
    const request = {
      applicationId,
      secret,
      deviceCode,
      variant: 'token_set',
      idempotencyKey: null,
      wait: null,
    } as const
    const result = await pollDeviceCode(context, request)
    if (result.outcome !== 'accepted' || !result.ticket) throw new Error(`the poll was answered ${result.outcome}`)
    await settleDelivery(context, result.ticket, true)
  })
}

/** The numbers of the codes are dealt to the clients: 0, 10, 20, … are the first one's. */
function scriptOf({ n, statements }: Recorded): string {
  const literalOf = (value: unknown): string => {
    if (value === null || value === undefined) return 'null'
    if (Array.isArray(value)) return `array[${value.map(literalOf).join(', ')}]`
    if (value === idOf(n)) return ID.replace('to_hex(n)', 'to_hex(:n::int8)')
    if (value === grantIdOf(n)) return GRANT_ID.replace('n::text', ':n::text')
    return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value))
  }
  const filled = statements.map(({ text, values }) => {
    return `${text.replace(/\$(\d+)/g, (_, position) => literalOf(values[Number(position) - 1]))};`
  })
  return `\\set at :at + 1\n\\set n :first + :at * ${CLIENTS} + :client_id\n${filled.join('\n')}\n`
}

async function measure(service: TestService, granted: Granted, folder: string, script: string): Promise<Measured> {
  const { database, application } = service
  const server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') })
  const pids = [server.pid, await redisPid()]
  const postgres = await postgresPid(database)
  const ours = { address: server.address, cpuSeconds: () => cpuSeconds(pids) + cpuSecondsOfTree(postgres) }
  const round = async (codes: { ours: number; reference: number }) => {
    const requests = join(folder, 'issue.lua')
    writeFileSync(requests, postingScript(await formsOf(service, granted, codes.ours)))
    const driven = drive(ours, { path: POLLING, refused: 'some' }, requests, {
      seconds: ROUND_SECONDS,
      connections: CONNECTIONS,
    })
    const first = await granted.place(codes.reference)
    const reference = runPgbench(database.url, script, first, () => cpuSecondsOfTree(postgres))
    if (reference.requests > codes.reference) throw new Error('pgbench had too few codes')
    return { ours: driven, reference }
  }
  try {
    // The server knows the application when it answers a code request.
    await requestForms(server.address, application, 1)
    const many = { ours: WARM_UP_CODES, reference: WARM_UP_CODES }
    await round(many)
    const warm = await round(many)
    const codes = {
      ours: Math.ceil(warm.ours.requests * SPARE_FACTOR) + CONNECTIONS,
      reference: Math.ceil(warm.reference.requests * SPARE_FACTOR) + CLIENTS,
    }
    await service.database.query('analyze device_codes, grants')
    const rounds: Awaited<ReturnType<typeof round>>[] = []
    while (rounds.length < ROUNDS) rounds.push(await round(codes))
    const compared = summarise(rounds)
    const refusals = rounds.reduce((total, { ours }) => total + ours.refusals, 0)
    const missed = refusals > compared.ours_requests * MAX_REFUSED ? [`${refusals} polls got no token set`] : []
    return { connections: CONNECTIONS, clients: CLIENTS, ...compared, refusals, missed }
  } finally {
    await server.kill('SIGTERM')
  }
}

async function formsOf({ application }: TestService, granted: Granted, count: number): Promise<string[]> {
  const first = await granted.place(count)
  const credentials = { SVCappid: application.id, SVCsecret: application.secret }
  return Array.from({ length: count }, (_, index) => {
    return `${new URLSearchParams({ ...credentials, device_code: granted.textOf(first + index) })}`
  })
}

/** `cpuSecondsNow`: PostgreSQL's. That of pgbench is not counted. */
function runPgbench(url: string, script: string, first: number, cpuSecondsNow: () => number): Round {
  const variables = ['-D', `first=${first}`, '-D', 'at=-1']
  const args = ['-n', '-M', 'prepared', '-c', CLIENTS, '-T', ROUND_SECONDS, ...variables, '-f', script, url]
  const before = cpuSecondsNow()
  const { stdout, stderr } = spawnSync(postgresProgram('pgbench'), args.map(String), { encoding: 'utf8' })
  const [, requests, perSecond] = /processed: (\d+)[\s\S]*^tps = ([\d.]+)/m.exec(stdout) ?? []
  if (!requests || !perSecond || /number of failed transactions: [1-9]/.test(stdout)) {
    throw new Error(`pgbench: ${stdout}${stderr}`)
  }
  return { perSecond: Number(perSecond), requests: Number(requests), cpuSeconds: cpuSecondsNow() - before }
}
