/**
 * Waiting devices: compares the processor time that a device takes per minute if its polls are held for 25 seconds (`Prefer: wait`) and
 * if it polls every 5 seconds. Two servers, each with its own Redis, serve thousands of devices at the same time, one server in either
 * way, so that other work on the machine affects both.
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

/** `pauseMs`: between an answer and the next poll. `spreadMs`: first polls are spread over it, so that devices do not poll together. */
type DeviceLoad = {
  readonly headers: Readonly<Record<string, string>>
  readonly spreadMs: number
  readonly pauseMs: number
  readonly codes: number
  readonly expected: string
}

const POLLING_DEVICES: DeviceLoad = {
  headers: {},
  spreadMs: INTERVAL_MS,
  pauseMs: INTERVAL_MS,
  codes: DEVICES,
  expected: "status == 400 and (body:find('auth_pending') or body:find('slow_down'))",
}

/** Twice as many codes as devices: no poll releases one that is still held. */
const HELD_DEVICES: DeviceLoad = {
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
    for (const load of [HELD_DEVICES, POLLING_DEVICES]) started.push(await start(service, load, folder))
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

async function start({ database, application }: TestService, load: DeviceLoad, folder: string): Promise<Started> {
  const redis = await startPrivateRedis()
  const server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: redis.url })
  const forms = await requestForms(server.address, application, load.codes)
  const script = join(folder, `${load.pauseMs}.lua`)
  writeFileSync(script, postingScript(forms, load.headers) + delayOf(load) + checkOf(load.expected))
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
const delayOf = ({ spreadMs, pauseMs }: DeviceLoad) => `local begun = 0
function delay()
  if begun == ${DEVICES} then return ${pauseMs} end
  begun = begun + 1
  return math.random(0, ${spreadMs})
end
`
