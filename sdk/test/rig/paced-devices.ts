/**
 * Many devices with this library in real time, with the real server, its gate on a Redis of its own, through a
 * network that delays requests and answers. The server and Redis count the result, not the devices.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startTestService, type TestService } from '../../../server/test/rig/service.ts'
import { startPrivateRedis } from '../../../server/test/scale/private-redis.ts'
import type { Variant } from '../../src/index.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { importSdk } from './packed.ts'

const DEVICES = 100
const INTERVAL_S = 1
const MAX_DELAY_MS = 400

export type Paced = {
  readonly devices: number
  readonly interval: number
  /** Polls that the server answered, and those of them that it answered slow_down. */
  readonly polls: number
  readonly slowDowns: number
  /** Polls that reached Redis: all of them, unless the server paced some by itself. */
  readonly atRedis: number
  /** Count of a device that polls too early on purpose: verifies the measurement. */
  readonly slowDownsOfHasty: number
}

export async function pollInRealTime(polls: number, chance: () => number): Promise<Paced> {
  const redis = await startPrivateRedis()
  const service = await startTestService({
    REDIS_URL: redis.url,
    METRICS_PORT: '0',
    POLL_INTERVAL: String(INTERVAL_S),
    LOG_LEVEL: 'silent',
  })
  const proxy = await startFaultProxy(service.address, () => ({
    fault: chance() < 0.5 ? 'question_delayed' : 'answer_delayed',
    delayMs: chance() * MAX_DELAY_MS,
  }))
  try {
    const each = Math.ceil(polls / DEVICES)
    await Promise.all(
      Array.from({ length: DEVICES }, async (_, index) => {
        await sleep(chance() * INTERVAL_S * 1000)
        await pollSo(service, proxy.address, index % 2 === 0 ? 'token_set' : 'access_key', each)
      }),
    )
    const counted = await pollsOf(service)
    const atRedis = await pacesAt(redis.url)
    const device = service.device()
    const { device_code } = await device.code()
    await Promise.all([device.poll(device_code), device.poll(device_code)])
    const slowDownsOfHasty = (await pollsOf(service)).slowDowns - counted.slowDowns
    return { devices: DEVICES, interval: INTERVAL_S, ...counted, atRedis, slowDownsOfHasty }
  } finally {
    await proxy.close()
    await service.stop()
    redis.stop()
  }
}

/** One device whose code is not decided. */
async function pollSo(service: TestService, baseUrl: string, variant: Variant, polls: number): Promise<void> {
  const { createClient } = await importSdk()
  const { id, secret } = service.application
  const client = createClient({ baseUrl, appId: id, appSecret: secret, holdPolls: false })
  const session = await client.device.start({ variant })
  let heard = 0
  for await (const _ of session) {
    heard += 1
    if (heard === polls) return
  }
}

async function pollsOf({ metricsAddress }: TestService): Promise<{ polls: number; slowDowns: number }> {
  const text = await (await fetch(`${metricsAddress}/metrics`)).text()
  const counts = Array.from(text.matchAll(/^latchkey_polls_total\{outcome="(\w+)"\} (\d+)$/gm))
  const sum = (rows: typeof counts) => rows.reduce((total, [, , count]) => total + Number(count), 0)
  return { polls: sum(counts), slowDowns: sum(counts.filter(([, outcome]) => outcome === 'slow_down')) }
}

/** The gate reads the hint once for each poll that it paces. */
async function pacesAt(url: string): Promise<number> {
  const redis = new Redis(url)
  try {
    return Number(/^cmdstat_get:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0)
  } finally {
    redis.disconnect()
  }
}
