/**
 * A device that waits for its user: with polls that are held for 25 seconds (`Prefer: wait`), against a poll every 5 seconds. Thousands
 * of devices wait either way at the same time, at a server and a Redis of their own. What is compared is the processor time of both
 * per device and minute.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import { startPrivateRedis } from '../server/test/scale/private-redis.ts'
import { checkOf, cpuSeconds, postingScript, summarise } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { POLLING, requestForms } from './poll.ts'
import { driveSideBySide, type Loaded } from './side-by-side.ts'

const DEVICES = 8_000
const INTERVAL_MS = 5_000
const WAIT_SECONDS = 25

const WINDOWS = { count: 16, seconds: 8, openingSeconds: WAIT_SECONDS + 10 }

/** `pauseMs`: between an answer and the next poll of a device. `spreadMs`: within it the devices begin, so that they never poll together. */
type Way = {
  readonly headers: Readonly<Record<string, string>>
  readonly spreadMs: number
  readonly pauseMs: number
  readonly codes: number
  readonly expected: string
}

const POLLING_WAY: Way = {
  headers: {},
  spreadMs: INTERVAL_MS,
  pauseMs: INTERVAL_MS,
  codes: DEVICES,
  expected: "status == 400 and (body:find('auth_pending') or body:find('slow_down'))",
}

/** Twice as many codes as devices: no poll releases one that is still held. */
const HELD_WAY: Way = {
  headers: { prefer: `wait=${WAIT_SECONDS}` },
  spreadMs: WAIT_SECONDS * 1_000,
  pauseMs: 0,
  codes: 2 * DEVICES,
  expected: "status == 400 and body:find('auth_pending') and headers['preference-applied']",
}

export const benchWaitingDevice: Benchmark = async (run) => {
  const service = await startTestService({}, { listen: false })
  try {
    await run({ measure: () => measure(service), database: service.database })
  } finally {
    await service.stop()
  }
}

async function measure(service: TestService): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
  const started: Started[] = []
  try {
    for (const way of [HELD_WAY, POLLING_WAY]) started.push(await start(service, way, folder))
    const [held, polling] = started
    if (!held || !polling) throw new Error('two servers are compared')
    const driven = await driveSideBySide(held, polling, POLLING, WINDOWS, DEVICES)
    const { ours_requests, ...compared } = summarise(
      driven.windows.map(({ ours, reference, seconds }) => ({
        ours: { perSecond: driven.oursPerSecond, requests: (DEVICES * seconds) / 60, cpuSeconds: ours },
        reference: { perSecond: driven.referencePerSecond, requests: (DEVICES * seconds) / 60, cpuSeconds: reference },
      })),
    )
    return { devices: DEVICES, ...compared, ratio: compared.ratio_by_cpu, missed: [] }
  } finally {
    for (const { stop } of started) await stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

type Started = Loaded & { stop(): Promise<void> }

async function start({ database, application }: TestService, way: Way, folder: string): Promise<Started> {
  const redis = await startPrivateRedis()
  const server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: redis.url })
  const forms = await requestForms(server.address, application, way.codes)
  const script = join(folder, `${way.pauseMs}.lua`)
  writeFileSync(script, postingScript(forms, way.headers) + delayOf(way) + checkOf(way.expected))
  return {
    address: server.address,
    script,
    cpuSeconds: () => cpuSeconds([server.pid, redis.pid]),
    stop: async () => {
      await server.kill('SIGTERM')
      redis.stop()
    },
  }
}

/** wrk calls it before each request, that is first once for each connection. */
const delayOf = ({ spreadMs, pauseMs }: Way) => `local begun = 0
function delay()
  if begun == ${DEVICES} then return ${pauseMs} end
  begun = begun + 1
  return math.random(0, ${spreadMs})
end
`
