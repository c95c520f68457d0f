/** A Redis that loses everything, does not answer, is full, or moves its slots. docs/history.md#0056: no outcome depends on it. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { Device } from '../../rig/device.ts'
import { useOwnRedisTimeouts } from '../../rig/engines/long-timeouts.ts'
import { startCluster, type TestCluster } from '../../rig/engines/redis-cluster.ts'
import { type RedisNode, startRedisNode } from '../../rig/engines/redis-node.ts'
import { type GateService, startGateService } from './gate-service.ts'

useOwnRedisTimeouts()

describe('a single Redis', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-redis-'))
  let redis: RedisNode
  let service: GateService
  beforeAll(async () => {
    redis = await startRedisNode({ folder, kind: 'server', lines: () => ['save ""', 'enable-debug-command yes'] })
    const url = `redis://127.0.0.1:${redis.port}`
    service = await startGateService([url, url])
  })
  afterEach(async () => {
    await redis.ask('config', 'set', 'maxmemory', '0')
    await redis.ask('flushall')
  })
  afterAll(async () => {
    await service?.stop()
    await redis?.kill()
    removeFolder(folder)
  })

  /** The times that polls of another device take meanwhile, in milliseconds. */
  async function timesOf(fault: () => Promise<unknown>): Promise<readonly number[]> {
    const devices = service.servers.map(({ address }) => new Device(address, service.application))
    const codes = await Promise.all(devices.map((device) => device.code()))
    const times: number[] = []
    let ended = false
    const poll = async () => {
      while (!ended) {
        for (const [index, device] of devices.entries()) {
          const begun = performance.now()
          await device.poll(codes[index]?.device_code ?? '')
          times.push(performance.now() - begun)
        }
        await sleep(20)
      }
    }
    const polling = poll()
    await fault()
    ended = true
    await polling
    return times.sort((one, other) => one - other)
  }

  it('F17: emptied again and again, and started empty, it changes no outcome', async () => {
    await service.through(async () => {
      for (let time = 0; time < 20; time += 1) {
        await redis.ask('flushall')
        await sleep(150)
      }
      await redis.kill()
      await sleep(1_000)
      await redis.start()
      await expect.poll(async () => Number(await redis.ask('dbsize')), { timeout: 30_000 }).toBeGreaterThan(0)
    })
  })

  it.each([
    ['blocked', () => redis.ask('debug', 'sleep', '4')],
    [
      'frozen',
      async () => {
        redis.freeze()
        await sleep(4_000)
        redis.thaw()
      },
    ],
  ])('F19: while it is %s, polls wait for a quarter of a second once and then not at all', async (_, fault) => {
    let times: readonly number[] = []
    await service.through(async () => {
      times = await timesOf(fault)
    })
    const [median = 0, longest = 0] = [times[Math.floor(times.length / 2)], times.at(-1)]
    // After each quarter of a second Redis is left alone for half a second. Far more than either, for a busy machine.
    expect(median).toBeLessThan(250)
    expect(longest).toBeLessThan(2_000)
  })

  /** Ours expire first, so they are the ones to be evicted. */
  const fill = async (policy: string) => {
    await redis.ask('config', 'set', 'maxmemory-policy', policy)
    await redis.ask(
      'eval',
      "for i = 1, 2000 do redis.call('set', 'x' .. i, string.rep('x', 1000), 'ex', 3600) end",
      '0',
    )
    const used = /used_memory:(\d+)/.exec(await redis.ask('info', 'memory'))?.[1]
    // Well below, because buffers of clients come and go.
    await redis.ask('config', 'set', 'maxmemory', String(Number(used) - 1_000_000))
  }

  it('F20: full and without eviction it refuses writes, which the log says, and no device is slowed down for it', async () => {
    await service.through(async () => {
      await fill('noeviction')
      await sleep(3_000)
    })
    for (const server of service.servers) expect(server.log()).toContain('OOM')
  })

  it('F20: full and evicting what expires soonest it forgets paces and hints, and no device is slowed down for it', async () => {
    await service.through(async () => {
      await fill('volatile-ttl')
      await sleep(3_000)
    })
    const evicted = /evicted_keys:(\d+)/.exec(await redis.ask('info', 'stats'))?.[1]
    expect(Number(evicted)).toBeGreaterThan(5)
  })
})

describe('a cluster', () => {
  let redis: TestCluster
  let service: GateService
  beforeAll(async () => {
    redis = await startCluster()
    service = await startGateService([redis.url, redis.url])
  })
  afterAll(async () => {
    await service?.stop()
    await redis?.stop()
  })

  it('F21: slots that move from master to master while they are used change no outcome', async () => {
    const [one, two, three] = await redis.masters()
    if (!one || !two || !three) throw new Error('the cluster has not three masters')
    await service.through(async () => {
      await redis.reshard(2_000, one, two)
      await redis.reshard(2_000, two, three)
      await redis.reshard(2_000, three, one)
    })
    // Clients were sent on.
    expect(await one.ask('info', 'errorstats')).toMatch(/errorstat_(MOVED|ASK|TRYAGAIN)/)
  })
})
