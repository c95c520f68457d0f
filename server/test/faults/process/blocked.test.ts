/** A process that does nothing for two seconds, and one that runs out of memory: others carry on, and nothing is issued twice. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Device } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeUser } from '../../rig/make.ts'
import { debuggersOf, evaluateWithin } from '../../rig/process/debugger.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const BLOCKED_MS = 2_000
const CODES = 8

let service: TestService
const environment = () => ({ DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL'), METRICS_PORT: '0' })
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { listen: false })
})
afterAll(() => service.stop())

/** Granted codes that nobody has polled since. */
async function grantedCodes(device: Device): Promise<readonly string[]> {
  return Promise.all(
    Array.from({ length: CODES }, async () => {
      const { device_code, user_code } = await device.code()
      expect(await service.grant(user_code, await makeUser(service.context.db, service.account.slug))).toBe('granted')
      return device_code
    }),
  )
}

async function readMetric(log: string, name: string): Promise<number> {
  const [, address = ''] = /"event":"metrics_listening","address":"([^"]+)"/.exec(log) ?? []
  const text = await (await fetch(`${address}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1),
  )
}

it('F45: while the event loop of one process is blocked for two seconds, another delivers what it was asked for; each code is delivered once, and only its own health check fails', async () => {
  const [blocked, other] = await Promise.all([
    startServerProcess(environment(), { node: ['--inspect=127.0.0.1:0'] }),
    startServerProcess(environment()),
  ])
  const here = new Device(blocked.address, service.application)
  const there = new Device(other.address, service.application)
  const codes = await grantedCodes(there)
  // Connections that the blocked process has accepted before.
  await Promise.all(codes.map(() => here.poll('lkd_nonsense')))
  const begun = performance.now()
  const busy = `for (const until = performance.now() + ${BLOCKED_MS}; performance.now() < until; );`
  const [address = ''] = debuggersOf(blocked.log())
  const evaluated = evaluateWithin(address, busy)
  await sleep(200)
  let freeAt = 0
  void evaluated.then(() => {
    freeAt = performance.now()
  })
  const asked = codes.map((code) => here.poll(code))
  const isLive = async ({ address: at }: { address: string }) =>
    (await fetch(`${at}/health/live`, { signal: AbortSignal.timeout(500) }).catch(() => null))?.status ?? 0
  expect(await Promise.all([blocked, other].map(isLive))).toEqual([0, 200])
  const carried = await Promise.all(codes.map((code) => there.poll(code)))
  expect(freeAt, 'the other answered while it was blocked').toBe(0)
  expect(carried.map(({ status }) => status)).toEqual(codes.map(() => 200))
  const late = await Promise.all(asked)
  expect(performance.now() - begun).toBeGreaterThan(BLOCKED_MS)
  expect(late.map(({ body }) => body.error)).toEqual(codes.map(() => 'invalid'))
  expect(await isLive(blocked)).toBe(200)
  await Promise.all([blocked, other].map((server) => server.kill('SIGTERM')))
})

it('F43: a process without memory ends and is started again; its supervisor and the other process serve on, and each code is delivered once', async () => {
  const server = await startServerProcess(environment(), {
    processes: 2,
    node: ['--inspect=127.0.0.1:0', '--max-old-space-size=128'],
  })
  await expect.poll(() => debuggersOf(server.log()).length).toBe(3)
  const device = new Device(server.address, service.application)
  const codes = await grantedCodes(device)
  const filling = 'globalThis.kept = []; for (;;) kept.push(new Array(100_000).fill(0.5))'
  const [, first = ''] = debuggersOf(server.log())
  const died = evaluateWithin(first, filling)
  const delivered: string[] = []
  // A poll whose connection breaks is repeated, as a device does.
  const collect = async (code: string) => {
    for (let attempt = 0; attempt < 120; attempt += 1) {
      const answer = await device.poll(code).catch(() => null)
      if (answer?.status === 200) delivered.push(code)
      if (answer?.body.error === 'invalid') return
      await sleep(250)
    }
  }
  await Promise.all([died, ...codes.map(collect)])
  expect(delivered.sort()).toEqual([...codes].sort())
  expect(server.log()).toContain('"event":"process_died"')
  await expect.poll(() => readMetric(server.log(), 'latchkey_processes'), { timeout: 20_000 }).toBe(2)
  expect(await readMetric(server.log(), 'latchkey_process_deaths_total')).toBe(1)
  const [row] = await service.database.query<{ twice: number }>(
    'select count(*)::int as twice from (select from grants group by device_code_id having count(*) > 1) doubled',
  )
  expect(row?.twice).toBe(0)
  await server.kill('SIGTERM')
})
