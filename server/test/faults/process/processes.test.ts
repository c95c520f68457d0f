/** `latchkey serve --processes`: one port, one set of metrics, and nobody notices when a process is replaced. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { METRICS_MS } from '../../../src/processes/child.ts'
import { Device, post } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { makeEnvironment } from '../../rig/make.ts'
import { EXECUTABLE } from '../../rig/process/executable.ts'
import { isRunning, listeningPids, type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { spawnTied } from '../../rig/process/tied-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { pollWithoutEnd } from './poll-without-end.ts'

const SIGHUPS = 3
const PROCESSES = 2

/** Of a test that replaces processes several times: each start takes a busy machine seconds of processor time. */
const REPLACING_MS = 240_000

let service: TestService
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(() => service.stop())

async function start(settings: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startServerProcess(
    {
      DATABASE_URL: service.database.url,
      REDIS_URL: engineUrl('REDIS_URL'),
      DRAIN_SECONDS: '1',
      METRICS_PORT: '0',
      OVERLOAD_DELAY: '0',
      ...settings,
    },
    { processes: PROCESSES },
  )
  // The supervisor's line may be written before theirs.
  await until(() => listeningPids(server).length === PROCESSES)
  return server
}

it.concurrent(
  `${SIGHUPS} SIGHUPs under load replace every process: no connection ends without an answer, and no request is missing in the metrics`,
  async () => {
    const server = await start()
    const { credentials } = service.device()
    const codes = await Promise.all(Array.from({ length: 12 }, () => service.device().code()))
    const forms = codes.map(({ device_code }) => `${new URLSearchParams({ ...credentials, device_code })}`)
    const load = pollWithoutEnd(server.address, forms, 20)
    const pids = new Set(listeningPids(server))
    expect(pids.size).toBe(PROCESSES)
    for (let round = 1; round <= SIGHUPS; round += 1) {
      process.kill(server.pid, 'SIGHUP')
      await until(() => server.log().split('"event":"replaced"').length - 1 === round)
      expect(await readSample(server, 'latchkey_processes')).toBe(PROCESSES)
    }
    await load.end()
    expect(new Set(listeningPids(server)).size).toBe(PROCESSES * (SIGHUPS + 1))
    expect(load.counts.unanswered).toBe(0)
    expect(load.counts.answered).toBeGreaterThan(100)
    const counted = 'latchkey_http_requests_total{route="/auth/oauth/device/polling",status="4xx"}'
    expect(await readSample(server, counted)).toBe(load.counts.answered)
    const timed = 'latchkey_http_request_duration_seconds_count{route="/auth/oauth/device/polling"}'
    expect(await readSample(server, timed)).toBe(load.counts.answered)
    await server.kill('SIGTERM')
    expect(server.log()).not.toContain('process_died')
  },
  REPLACING_MS,
)

it.concurrent('a process that is killed is started again, and SIGTERM drains all', async () => {
  const server = await start()
  const [first = 0, second = 0] = listeningPids(server)
  process.kill(first, 'SIGKILL')
  await until(() => listeningPids(server).length === PROCESSES + 1)
  expect(server.log()).toContain(`"event":"process_died","processId":${first},"how":"ended by SIGKILL"`)
  expect(await readSample(server, 'latchkey_process_deaths_total')).toBe(1)
  expect(await readSample(server, 'latchkey_processes')).toBe(PROCESSES)

  const stopping = server.kill('SIGTERM')
  await until(() => server.log().split('"event":"draining"').length - 1 === PROCESSES)
  expect((await post(server.address, '/health/ready', { method: 'GET' })).status).toBe(503)
  await stopping
  expect(isRunning(second)).toBe(false)
  // Each process, and the supervisor.
  expect(server.log().split('"event":"stopped"').length - 1).toBe(PROCESSES + 1)
})

it.concurrent(
  'a SIGHUP during a replacement that fails is not lost: the processes are replaced once more',
  async ({ onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), 'messages-'))
    onTestFinished(() => removeFolder(folder))
    const server = await start({ MESSAGES_DIR: folder })
    const count = (event: string) => server.log().split(`"event":"${event}"`).length - 1
    const texts = join(folder, 'en.json')
    writeFileSync(texts, 'not JSON')
    process.kill(server.pid, 'SIGHUP')
    await until(() => count('replacing') === 1)
    process.kill(server.pid, 'SIGHUP')
    await until(() => count('replace_failed') === 2)
    rmSync(texts)
    process.kill(server.pid, 'SIGHUP')
    await until(() => count('replaced') === 1)
    expect([count('replacing'), count('replace_failed')]).toEqual([3, 2])
    await server.kill('SIGTERM')
  },
  REPLACING_MS,
)

it.concurrent('a new code of one process is polled, decided and delivered by any other', async () => {
  const server = await start()
  const device = new Device(server.address, service.application)
  for (let round = 0; round < 5; round += 1) {
    const { device_code, user_code } = await device.code()
    expect((await device.poll(device_code)).body.error).toBe('auth_pending')
    expect(await service.grant(user_code)).toBe('granted')
    expect((await device.poll(device_code)).status).toBe(200)
  }
  await server.kill('SIGTERM')
})

it.concurrent('several readers of the metrics at the same moment all get them without waiting for a time limit', async () => {
  const server = await start()
  const startedAt = performance.now()
  const read = await Promise.all(Array.from({ length: 4 }, () => readSample(server, 'latchkey_processes')))
  expect(performance.now() - startedAt).toBeLessThan(METRICS_MS)
  expect(read).toEqual(read.map(() => PROCESSES))
  await server.kill('SIGTERM')
})

it.concurrent('SIGTERM while the first process starts ends the supervisor, and no further process is started', async () => {
  const settings = { DATABASE_URL: service.database.url, DRAIN_SECONDS: '1', METRICS_PORT: '0', LOG_LEVEL: 'info' }
  const child = spawnTied('KILL', process.execPath, [EXECUTABLE, 'serve', '--processes', String(PROCESSES)], {
    env: { PATH: process.env.PATH, ...makeEnvironment(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  child.stdout?.on('data', (chunk) => {
    if (!log.includes('metrics_listening') && `${log}${chunk}`.includes('metrics_listening')) child.kill('SIGTERM')
    log += chunk
  })
  await once(child, 'exit')
  expect(log.split('"event":"stopped"').length - 1).toBeLessThanOrEqual(2)
  expect(log).toContain('"event":"stopped"')
  expect(log.split('"event":"listening"').length - 1).toBeLessThanOrEqual(1)
})

it.concurrent('processes that cannot start because PostgreSQL is away end, and others are started when it is back', async ({
  onTestFinished,
}) => {
  const postgres = await startOwnPostgres()
  onTestFinished(() => postgres.remove())
  const server = await start({ DATABASE_URL: postgres.url, PORT: String(await freePort()) })
  const before = listeningPids(server)
  postgres.stop()
  for (const pid of before) process.kill(pid, 'SIGKILL')
  const deaths = () => server.log().split('"event":"process_died"').length - 1
  await until(() => deaths() > PROCESSES)
  expect(server.log()).toContain('"how":"status 1"')
  postgres.start()
  await until(() => listeningPids(server).filter(isRunning).length === PROCESSES)
  expect((await post(server.address, '/health/ready', { method: 'GET' })).status).toBe(200)
  await server.kill('SIGTERM')
})

async function readSample(server: ServerProcess, name: string): Promise<number> {
  const [, address = ''] = /"event":"metrics_listening","address":"([^"]+)"/.exec(server.log()) ?? []
  const text = await (await fetch(`${address}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

async function until(reached: () => boolean): Promise<void> {
  for (let waited = 0; !reached(); waited += 50) {
    if (waited > 120_000) throw new Error('not reached within two minutes')
    await sleep(50)
  }
}
