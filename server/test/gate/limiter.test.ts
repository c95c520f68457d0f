/** The limiter of networks and applications: in process, on Redis, on a cluster, and while Redis is down. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createLimiter, type Limiter, type Limits } from '../../src/gate/limiter.ts'
import { openRedis, type RedisLink } from '../../src/gate/redis-link.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { useOwnTimeouts } from '../rig/engines/long-timeouts.ts'
import { freshNetwork } from '../rig/network/fresh-network.ts'
import { startPrivateRedis } from '../scale/private-redis.ts'

useOwnTimeouts()

/** Code requests, in bursts of a hundred. */
const LIMITS: Limits = { codeRequestsPerNetwork: 5, codeRequestsPerApplication: 3_000, dialogsPerNetwork: 3 }

const links: { name: string; open: () => RedisLink | null }[] = [
  { name: 'in process', open: () => null },
  { name: 'on Redis', open: () => openRedis(engineUrl('REDIS_URL'), () => {}) },
  { name: 'on a Redis cluster', open: () => openRedis(engineUrl('REDIS_CLUSTER_URL'), () => {}) },
]

/** A network used by no other test: counts outlive a test by a minute. */
const somewhere = () => `${freshNetwork()}.0/24`

async function passes(ask: () => Promise<{ passed: boolean }>, times: number): Promise<number> {
  let passed = 0
  for (let time = 0; time < times; time += 1) if ((await ask()).passed) passed += 1
  return passed
}

async function connected(link: RedisLink | null): Promise<void> {
  while (link && !link.reachable()) await sleep(10)
}

describe.each(links)('a limiter $name', ({ open }) => {
  let link: RedisLink | null
  let limiter: Limiter
  beforeAll(async () => {
    link = open()
    limiter = createLimiter(LIMITS, link)
    await connected(link)
  })
  afterAll(() => link?.close())

  it('allows a network its limit, then returns how long to wait', async () => {
    const network = somewhere()
    expect(await passes(() => limiter.codeRequest(network), 5)).toBe(5)
    const refused = await limiter.codeRequest(network)
    expect(refused).toEqual({ passed: false, waitMs: expect.any(Number) })
    const waitMs = refused.passed ? 0 : refused.waitMs
    expect(waitMs).toBeGreaterThan(50_000)
    expect(waitMs).toBeLessThanOrEqual(60_000)
  })

  it('allows exactly the limit when all arrive at once', async () => {
    const network = somewhere()
    const asked = await Promise.all(Array.from({ length: 50 }, () => limiter.codeRequest(network)))
    expect(asked.filter(({ passed }) => passed)).toHaveLength(5)
  })

  it('counts every network separately, and codes apart from dialogs', async () => {
    const [one, other] = [somewhere(), somewhere()]
    expect(await passes(() => limiter.codeRequest(one), 9)).toBe(5)
    expect(await passes(() => limiter.codeRequest(other), 9)).toBe(5)
    expect(await passes(() => limiter.dialog(one), 9)).toBe(3)
  })

  it('counts all clients without an address as one network', async () => {
    const own = createLimiter({ ...LIMITS, dialogsPerNetwork: 1 }, null)
    expect(await passes(() => own.dialog(null), 3)).toBe(1)
  })

  it('limits nothing where the limit is 0', async () => {
    const none = { codeRequestsPerNetwork: 0, codeRequestsPerApplication: 0, dialogsPerNetwork: 0 }
    const free = createLimiter(none, link)
    const network = somewhere()
    expect(await passes(() => free.codeRequest(network), 1_000)).toBe(1_000)
    expect(await passes(() => free.dialog(network), 1_000)).toBe(1_000)
    const by = { applicationId: randomUUID(), network }
    expect(await passes(() => free.codes.take(by), 1_000)).toBe(1_000)
  })

  it('allows an application a burst, then the reserve only to networks with few codes', async () => {
    const applicationId = randomUUID()
    const take = (network: string) => limiter.codes.take({ applicationId, network })
    let loud = 0
    while (loud < 1_000 && (await take('loud')).passed) loud += 1
    expect(loud).toBeGreaterThanOrEqual(100)
    expect(loud).toBeLessThan(250)
    expect(await passes(() => take('home'), 1)).toBe(1)
    expect(await passes(() => take('another home'), 1)).toBe(1)
    while ((await take('loud')).passed);
    expect(await take('loud')).toEqual({ passed: false, waitMs: 2_000 })
  })

  it('does not count a code that was not issued after all', async () => {
    const by = { applicationId: randomUUID(), network: 'x' }
    for (let time = 0; time < 300; time += 1) {
      expect((await limiter.codes.take(by)).passed).toBe(true)
      await limiter.codes.refund(by)
    }
  })
})

describe.each(links.slice(1))('two processes with a limiter $name', ({ open }) => {
  let own: RedisLink | null
  let others: RedisLink | null
  beforeAll(async () => {
    own = open()
    others = open()
    await Promise.all([connected(own), connected(others)])
  })
  afterAll(() => Promise.all([own?.close(), others?.close()]))

  it('count the networks together', async () => {
    const [one, other] = [createLimiter(LIMITS, own), createLimiter(LIMITS, others)]
    const network = somewhere()
    expect(await passes(() => one.codeRequest(network), 3)).toBe(3)
    expect(await passes(() => other.codeRequest(network), 9)).toBe(2)
    expect(await passes(() => one.codeRequest(network), 9)).toBe(0)
  })

  it('call Redis once per request, and not at all for a network over its limit', async () => {
    const limiter = createLimiter(LIMITS, own)
    // The first call loads the script.
    await limiter.codeRequest(somewhere())
    const network = somewhere()
    const asked = vi.spyOn(own?.redis as NonNullable<typeof own>['redis'], 'sendCommand')
    await passes(() => limiter.codeRequest(network), 5)
    expect(asked).toHaveBeenCalledTimes(5)
    await passes(() => limiter.codeRequest(network), 100)
    expect(asked, 'the first of them was refused by Redis').toHaveBeenCalledTimes(6)
    asked.mockRestore()
  })
})

describe('while Redis is down', () => {
  it('RL-11: a process limits by its own count', async () => {
    const link = openRedis('redis://127.0.0.1:1', () => {})
    const limiter = createLimiter(LIMITS, link)
    const network = somewhere()
    expect(await passes(() => limiter.codeRequest(network), 20)).toBe(5)
    expect(await passes(() => limiter.dialog(network), 20)).toBe(3)
    const by = { applicationId: randomUUID(), network }
    expect(await passes(() => limiter.codes.take(by), 500)).toBeLessThan(200)
    await link.close()
  })

  it('RL-11: a Redis that hangs delays a request by a quarter of a second, and counting continues', async () => {
    const redis = await startPrivateRedis()
    const link = openRedis(redis.url, () => {})
    try {
      await connected(link)
      const limiter = createLimiter(LIMITS, link)
      const network = somewhere()
      expect((await limiter.codeRequest(network)).passed).toBe(true)
      await link.redis.call('client', 'pause', '3000', 'ALL')
      const begun = performance.now()
      const asked = await Promise.all(Array.from({ length: 50 }, () => limiter.codeRequest(network)))
      expect(performance.now() - begun).toBeLessThan(1_000)
      expect(asked.filter(({ passed }) => passed)).toHaveLength(5)
      // Later requests do not wait for it, because the circuit is open.
      expect([link.answers, link.reachable()]).toEqual([false, false])
      await expect.poll(() => limiter.codeRequest(somewhere()).then(() => link.answers), { timeout: 10_000 }).toBe(true)
    } finally {
      await link.close()
      redis.stop()
    }
  })
})
