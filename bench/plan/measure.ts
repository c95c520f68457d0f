/**
 * Measures the figures of the model (model.ts) and writes figures.json: processor seconds of each program, not time on the clock,
 * so that other work on the machine matters little.
 *
 *   npm run measure:plan
 */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { closeContext, createContext } from '../../server/src/app.ts'
import { Device } from '../../server/test/rig/device.ts'
import { startOwnPostgres } from '../../server/test/rig/engines/own-postgres.ts'
import { makeAccount, makeApplication, makeConfig } from '../../server/test/rig/make.ts'
import { residentMb, startServerProcess } from '../../server/test/rig/process/server-process.ts'
import { fillGate } from '../../server/test/scale/gate-keys.ts'
import { startHeldDevices } from '../../server/test/scale/held-devices.ts'
import { startOpenLoad } from '../../server/test/scale/open-load.ts'
import { placePendingCodes } from '../../server/test/scale/pending-codes.ts'
import { startPrivateRedis } from '../../server/test/scale/private-redis.ts'
import { endedChildrenSeconds, processorSeconds } from './processor-time.ts'

const PATH = '/auth/oauth/device/polling'

/** Few: under more load, more polls share a batch, and each costs less. */
const POLLS_PER_SECOND = 500
const POLL_SECONDS = 20
/** No code is polled twice within a run, so that each is in the state that the run is about. */
const CODES = POLLS_PER_SECOND * POLL_SECONDS
const CODE_REQUESTS = 2_000
const HELD = 3_000
/** Two waits of 25 seconds: each device polls twice. */
const HELD_SECONDS = 50
const IDLE_SECONDS = 10

const postgres = await startOwnPostgres()
const redis = await startPrivateRedis()
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

/** Microseconds for each of `count` requests. `idle`: what a process takes in a second without requests. */
async function measure(what: string, work: () => Promise<number>, idle: Spent | null): Promise<Spent> {
  const [before, begun] = [spent(), performance.now()]
  const count = await work()
  const [after, seconds] = [spent(), (performance.now() - begun) / 1000]
  const each = (part: keyof Spent) =>
    Math.max(0, ((after[part] - before[part]) * 1e6 - (idle?.[part] ?? 0) * seconds) / count)
  const figures = { server: each('server'), redis: each('redis'), postgres: each('postgres') }
  console.log(what, { count, seconds: Math.round(seconds), ...figures })
  return figures
}

const formOf = (index: number) => {
  const text = Buffer.from(codes.texts).toString('latin1', index * codes.textLength, (index + 1) * codes.textLength)
  return `${new URLSearchParams({ ...device.credentials, device_code: text })}`
}

async function poll(): Promise<number> {
  const bodies = Array.from({ length: CODES }, (_, index) => formOf(index))
  const stream = { name: 'polls', perSecond: POLLS_PER_SECOND, path: PATH, bodies, networks: ['203.0.113.1'] }
  const load = startOpenLoad({ address: server.address, streams: [stream], connections: 2_000, nice: 0 })
  try {
    const [measured] = await load.run(POLL_SECONDS)
    const { '400 auth_pending': pending = 0, '400 slow_down': early = 0, ...others } = measured?.answers ?? {}
    if (Object.keys(others).length > 0) throw new Error(`polls of pending codes were answered ${JSON.stringify(others)}`)
    return pending + early
  } finally {
    load.stop()
  }
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

async function readPolls(): Promise<number> {
  const [, address = ''] = /"event":"metrics_listening","address":"([^"]+)"/.exec(server.log()) ?? []
  const text = await (await fetch(`${address}/metrics`)).text()
  return Number(/^latchkey_polls_total\{outcome="auth_pending"\} (\d+)$/m.exec(text)?.[1])
}

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
  const walPerCode = ((await walBytes()) - walBefore) / CODE_REQUESTS
  const wirePerCodeRequest = await wireBytes(
    '/auth/oauth/device/code',
    `${new URLSearchParams({ ...device.credentials, state: 'AAAAAAAAAAAAAAAAAAAAAA' })}`,
  )

  await poll()
  await redis.forgetEverything()
  const read = await measure('poll that reads', poll, idle)
  await redis.forgetEverything()
  const redisBytes = await fillGate(redis, codes.ids)
  const hinted = await measure('poll with a hint', poll, idle)
  const wirePerPoll = await wireBytes(PATH, formOf(0))

  await redis.forgetEverything()
  const [residentBefore, port] = [residentMb(server.pid), Number(new URL(server.address).port)]
  const devices = startHeldDevices(
    port,
    Array.from({ length: HELD }, (_, index) => formOf(index)),
  )
  await sleep(10_000)
  const heldMb = residentMb(server.pid) - residentBefore
  const held = await measure('held poll', holdPolls, idle)
  devices.stop()

  const of = (part: keyof Spent) => ({
    poll: rounded(hinted[part]),
    read: rounded(Math.max(0, read[part] - hinted[part])),
    heldPoll: rounded(held[part]),
    codeRequest: rounded(codeRequest[part]),
    idleProcess: rounded(idle[part]),
  })
  const figures = {
    processor: { server: of('server'), redis: of('redis'), postgres: of('postgres') },
    bytes: {
      postgresPerCode: rounded(bytes / CODES),
      walPerCode: rounded(walPerCode),
      redisPerCode: rounded(redisBytes / CODES),
      memoryPerProcess: residentBefore * 2 ** 20,
      memoryPerHeldPoll: rounded((heldMb * 2 ** 20) / HELD),
      wirePerPoll,
      wirePerCodeRequest,
    },
  }
  console.log(JSON.stringify(figures, null, 2))
} finally {
  await server.kill('SIGTERM')
  await client.end()
  redis.stop()
  postgres.remove()
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
