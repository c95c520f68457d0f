/**
 * Measures the figures of the model (model.ts) and writes figures.json: processor seconds of each program, not time on the clock,
 * so that other work on the machine matters little.
 *
 *   npm run bench -- figures
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { closeContext, createContext } from '../../server/src/app.ts'
import { Device } from '../../server/test/rig/device.ts'
import { startOwnPostgres } from '../../server/test/rig/engines/own-postgres.ts'
import { makeAccount, makeApplication, makeConfig } from '../../server/test/rig/make.ts'
import { startServerProcess } from '../../server/test/rig/process/server-process.ts'
import { fillGate } from '../../server/test/scale/gate-keys.ts'
import { startHeldDevices } from '../../server/test/scale/held-devices.ts'
import { placePendingCodes } from '../../server/test/scale/pending-codes.ts'
import { startPrivateRedis } from '../../server/test/scale/private-redis.ts'
import { removeFolder } from '../../tools/remove-folder.ts'
import { postingScript } from '../against-bare.ts'
import { describeMachine } from '../machine.ts'
import { FIGURES_FILE, type MeasuredFigures } from './figures.ts'
import { endedChildrenSeconds, processorSeconds } from './processor-time.ts'

const PATH = '/auth/oauth/device/polling'

/** So many polls are under way, and may share a batch. */
const CONNECTIONS = 32
/** Shorter than the life of a hint: the second poll of a code never reads. */
const POLL_SECONDS = 4
/** Between an answer and the next poll of a connection: 320 polls per second, which find the process idle. */
const PAUSE_MS = 100
const CODES = 40_000
const CODE_REQUESTS = 800
const HELD = 3_000
/** One wait: each device polls once. */
const HELD_SECONDS = 25
const IDLE_SECONDS = 5

const folder = mkdtempSync(join(tmpdir(), 'latchkey-plan-'))
const postgres = await startOwnPostgres()
const redis = await startPrivateRedis()
// For describeMachine.
process.env.REDIS_URL = redis.url
const client = new pg.Client({ connectionString: postgres.url })
await client.connect()
// biome-ignore lint/suspicious/noExplicitAny: rows of this script's own statements
const query = async (sql: string, values?: unknown[]): Promise<any[]> => (await client.query(sql, values)).rows

const environment = {
  DATABASE_URL: postgres.url,
  REDIS_URL: redis.url,
  DEVICE_CODE_LIFETIME: '3600',
  METRICS_PORT: '0',
}
const context = await createContext(makeConfig(environment))
const application = await makeApplication(context.db, context.config, (await makeAccount(context.db)).slug)
const { codes, bytes } = await placePendingCodes(context, { query }, application.id, CODES)
await closeContext(context)
const server = await startServerProcess(environment)
const device = new Device(server.address, application)

type Spent = Readonly<Record<'server' | 'redis' | 'postgres', number>>

const spent = (): Spent => ({
  server: processorSeconds([server.pid]),
  redis: processorSeconds([redis.pid]),
  // The postmaster is the first; connections that are idle for long end.
  postgres: processorSeconds(postgres.pids()) + endedChildrenSeconds(postgres.pids()[0] ?? 0),
})

/** Other work on the machine only ever adds: of several rounds, the one that took least is the nearest to what it costs. */
const ROUNDS = 5

/** Microseconds for each request that `work` counts. `idle`: what a process takes in a second without requests. */
async function measure(what: string, work: () => Promise<number>, idle: Spent | null, rounds = ROUNDS): Promise<Spent> {
  const measured: Spent[] = []
  for (let round = 0; round < rounds; round += 1) {
    const [before, begun] = [spent(), performance.now()]
    const count = await work()
    const [after, seconds] = [spent(), (performance.now() - begun) / 1000]
    const each = (part: keyof Spent) =>
      Math.max(0, ((after[part] - before[part]) * 1e6 - (idle?.[part] ?? 0) * seconds) / count)
    const figures = { server: each('server'), redis: each('redis'), postgres: each('postgres') }
    console.log(what, { count, seconds: Math.round(seconds), ...figures })
    measured.push(figures)
  }
  const total = ({ server, redis, postgres }: Spent) => server + redis + postgres
  return measured.reduce((least, each) => (total(each) < total(least) ? each : least))
}

const formOf = (index: number) => {
  return `${new URLSearchParams({ ...device.credentials, device_code: codes.texts[index] ?? '' })}`
}

/** Polls the codes in turn. By wrk, because it takes little processor time from the programs that are measured. */
async function poll(pauseMs = 0): Promise<number> {
  const script = join(folder, 'polls.lua')
  const pause = pauseMs === 0 ? '' : `function delay() return ${pauseMs} end\n`
  writeFileSync(script, postingScript(Array.from({ length: CODES }, (_, index) => formOf(index))) + pause)
  const args = [
    '-t1',
    `-c${CONNECTIONS}`,
    `-d${POLL_SECONDS}s`,
    '--timeout',
    '10s',
    '-s',
    script,
    server.address + PATH,
  ]
  const { stdout } = await promisify(execFile)('wrk', args)
  const [polls, refused] = [/(\d+) requests in/, /Non-2xx or 3xx responses: (\d+)/].map((each) =>
    Number(each.exec(stdout)?.[1]),
  )
  if (!polls || polls !== refused || stdout.includes('Socket errors')) throw new Error(`wrk: ${stdout}`)
  return polls
}

async function requestCodes(): Promise<number> {
  let left = CODE_REQUESTS
  const one = async () => {
    while (left > 0) {
      left -= 1
      await device.code({ state: 'AAAAAAAAAAAAAAAAAAAAAA' })
    }
  }
  await Promise.all(Array.from({ length: 16 }, one))
  return CODE_REQUESTS
}

async function readMetric(name: RegExp): Promise<number> {
  const [, address = ''] = /"event":"metrics_listening","address":"([^"]+)"/.exec(server.log()) ?? []
  const text = await (await fetch(`${address}/metrics`)).text()
  return Number(name.exec(text)?.[1])
}

const readPolls = () => readMetric(/^latchkey_polls_total\{outcome="auth_pending"\} (\d+)$/m)

async function holdPolls(): Promise<number> {
  const before = await readPolls()
  await sleep(HELD_SECONDS * 1000)
  return (await readPolls()) - before
}

const walBytes = async () => Number((await query("select pg_current_wal_lsn() - '0/0' as bytes"))[0]?.bytes)

/** Bytes of one request and its answer. */
function wireBytes(path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
      'user-agent': 'AcmeTelevision/2.1 (Tizen 7.0)',
    }
    let socket: Socket | null = null
    const outgoing = request(`${server.address}${path}`, { method: 'POST', agent: false, headers }, (response) => {
      response.resume()
      response.on('end', () => resolve((socket?.bytesRead ?? 0) + (socket?.bytesWritten ?? 0)))
    })
    outgoing.on('socket', (given) => {
      socket = given
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

try {
  // The server pulls a new application within a second.
  while ((await device.request()).status !== 200) await sleep(100)
  await measure('warm-up', requestCodes, null)
  const idle = await measure(
    'a process without requests, per second',
    async () => {
      await sleep(IDLE_SECONDS * 1000)
      return IDLE_SECONDS
    },
    null,
  )
  const walBefore = await walBytes()
  const codeRequest = await measure('code request', requestCodes, idle)
  const walPerCode = ((await walBytes()) - walBefore) / (ROUNDS * CODE_REQUESTS)
  const wirePerCodeRequest = await wireBytes(
    '/auth/oauth/device/code',
    `${new URLSearchParams({ ...device.credentials, state: 'AAAAAAAAAAAAAAAAAAAAAA' })}`,
  )

  // Warms up the server: most of its code is compiled only now.
  for (let round = 0; round < 3; round += 1) await poll()
  let polls = 0
  const pollEmpty = async () => {
    await redis.forgetEverything()
    polls = await poll()
    return polls
  }
  const empty = await measure('poll with an empty gate', pollEmpty, idle)
  // The part of the polls that are the first of their code, and read its row.
  const first = Math.min(1, CODES / polls)
  await redis.forgetEverything()
  const redisBytes = await fillGate(redis, codes.ids)
  const hinted = await measure('poll with a hint', () => poll(), idle)
  await redis.forgetEverything()
  await fillGate(redis, codes.ids)
  const alone = await measure('poll with a hint, process idle', () => poll(PAUSE_MS), idle)
  const wirePerPoll = await wireBytes(PATH, formOf(0))

  await redis.forgetEverything()
  const devices = startHeldDevices(
    Number(new URL(server.address).port),
    Array.from({ length: HELD }, (_, index) => formOf(index)),
  )
  while ((await readMetric(/^latchkey_held_polls (\d+)$/m)) < 0.98 * HELD) await sleep(500)
  const held = await measure('held poll', holdPolls, idle, 2)
  devices.stop()

  const of = (part: keyof Spent) => ({
    poll: rounded(hinted[part]),
    // A poll with a hint does not reach PostgreSQL.
    wakeUp: part === 'postgres' ? 0 : rounded(Math.max(0, alone[part] - hinted[part])),
    read: rounded(Math.max(0, empty[part] - hinted[part]) / first),
    heldPoll: rounded(held[part]),
    codeRequest: rounded(codeRequest[part]),
    idleProcess: rounded(idle[part]),
  })
  const origin = { command: 'npm run bench -- figures', machine: await describeMachine({ query }) }
  const measured: Omit<MeasuredFigures, 'memory'> = {
    processor_microseconds: {
      ...origin,
      figures: { server: of('server'), redis: of('redis'), postgres: of('postgres') },
    },
    bytes: {
      ...origin,
      figures: {
        postgresPerCode: rounded(bytes / CODES),
        walPerCode: rounded(walPerCode),
        redisPerCode: rounded(redisBytes / CODES),
        wirePerPoll,
        wirePerCodeRequest,
      },
    },
  }
  const file = JSON.parse(readFileSync(FIGURES_FILE, 'utf8'))
  writeFileSync(FIGURES_FILE, `${JSON.stringify({ ...file, ...measured }, null, 2)}\n`)
} finally {
  await server.kill('SIGTERM')
  await client.end()
  redis.stop()
  postgres.remove()
  removeFolder(folder)
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
