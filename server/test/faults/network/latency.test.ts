/** docs/interface/device-flow.md, "Pacing": a network that delays polls unevenly does not make an honest device too fast. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Device } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { type FaultProxy, startFaultProxy } from '../../rig/network/fault-proxy.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'

const POLLS_PER_CODE = 4
const CODES = sized(2_500, 100)

const [MEAN_MS, JITTER_MS] = [100, 80]
/** The network takes at most this long for a poll and its answer. What takes longer was kept waiting by this machine. */
const MAX_ROUND_TRIP_MS = 2 * (MEAN_MS + JITTER_MS) + 150

let service: TestService
let server: ServerProcess
let proxy: FaultProxy
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') })
  server = await startServerProcess({ DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL') })
  const uneven = { delayMs: () => MEAN_MS + (Math.random() * 2 - 1) * JITTER_MS }
  proxy = await startFaultProxy({ port: Number(new URL(server.address).port) }, uneven)
})
afterAll(async () => {
  await proxy.stop()
  await server.kill('SIGKILL')
  await service.stop()
})

it(`F26: ${figure(CODES * POLLS_PER_CODE)} polls at the interval, each 20 to 180 ms on its way on a connection of its own: none is told to slow down`, async () => {
  const near = new Device(server.address, service.application)
  const far = new Device(`http://127.0.0.1:${proxy.port}`, service.application)
  /** What the polls of a code heard; null if this machine kept one of them waiting. */
  const follow = async (index: number): Promise<string[] | null> => {
    const { device_code, interval } = await near.code()
    await sleep((index / CODES) * interval * 1000)
    const heard: string[] = []
    let kept = true
    for (let poll = 0; poll < POLLS_PER_CODE; poll += 1) {
      const sentAt = performance.now()
      const { body } = await far.poll(device_code, { connection: 'close' })
      if (performance.now() - sentAt > MAX_ROUND_TRIP_MS) kept = false
      heard.push(body.error)
      await sleep(Math.max(0, sentAt + interval * 1000 - performance.now()))
    }
    return kept ? heard : null
  }
  const followed = await Promise.all(Array.from({ length: CODES }, (_, index) => follow(index)))
  const judged = followed.filter((heard) => heard !== null)
  expect(judged.length).toBeGreaterThan(CODES / 10)
  expect(judged.flat().filter((word) => word !== 'auth_pending')).toEqual([])
})
