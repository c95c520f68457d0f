/**
 * A Redis with replicas loses its master, and with it the last writes, or has two for a while. docs/history.md#0056:
 * what Redis forgets or repeats changes no outcome.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { signSession } from '../../../src/secrets/web-texts.ts'
import { postNative } from '../../rig/credentials.ts'
import { Device, post } from '../../rig/device.ts'
import { useOwnRedisTimeouts } from '../../rig/engines/long-timeouts.ts'
import { startCluster } from '../../rig/engines/redis-cluster.ts'
import type { RedisNode } from '../../rig/engines/redis-node.ts'
import { type SentinelRedis, startSentinelRedis } from '../../rig/engines/redis-sentinel.ts'
import type { ReplicatedRedis } from '../../rig/engines/replicated-redis.ts'
import { startSession } from '../../rig/signed-in.ts'
import { Web } from '../../rig/web.ts'
import { type GateService, startGateService } from './gate-service.ts'

useOwnRedisTimeouts()

const kinds: readonly { readonly name: string; start(): Promise<ReplicatedRedis> }[] = [
  { name: 'three servers and three sentinels', start: startSentinelRedis },
  { name: 'a cluster of three masters and three replicas', start: () => startCluster(1) },
]

const hasKeys = async (node: RedisNode) => Number(await node.ask('dbsize')) > 0

describe.each(kinds)('$name', ({ start }) => {
  let redis: ReplicatedRedis
  let service: GateService
  beforeAll(async () => {
    redis = await start()
    service = await startGateService([redis.url, redis.url])
  })
  afterEach(() => redis.heal())
  afterAll(async () => {
    await service?.stop()
    await redis?.stop()
  })

  it('F15: a master that dies, and a replica without the last writes in its place, change no outcome and delay none by more than two intervals', async () => {
    await service.through(async () => {
      const master = await redis.lag()
      await sleep(2_000)
      await master.kill()
      const promoted = await redis.promotedAfter(master)
      await expect.poll(() => hasKeys(promoted), { timeout: 30_000 }).toBe(true)
    })
  })

  it('F16: a master that was frozen, replaced, and is back as if nothing had happened changes no outcome', async () => {
    await service.through(async () => {
      const master = await redis.lag()
      await sleep(1_000)
      master.freeze()
      const promoted = await redis.promotedAfter(master)
      await expect.poll(() => hasKeys(promoted), { timeout: 30_000 }).toBe(true)
      master.thaw()
      await sleep(2_000)
    })
  })

  it('F18: who signed out, and a credential that was revoked, stay dead when the master dies right afterwards', async () => {
    const { servers, context, config, account, application, user } = service
    const host = `${account.slug}.${new URL(config.publicUrl).host}`
    const cookie = signSession(config.keys, await startSession(service, user), account.slug)
    const browsers = servers.map(({ address }) => new Web(address, host))
    const device = new Device(servers[0]?.address ?? '', application)
    const code = await device.code()
    const entered = await enterUserCode(context, user.id, code.user_code)
    if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
    await grantDeviceCode(context, user.id, entered.code)
    const { body } = await device.poll(code.device_code)
    const statuses = async () => {
      for (const browser of browsers) browser.cookies.set(SESSION, cookie)
      const pages = await Promise.all(browsers.map((browser) => browser.send('GET', '/security')))
      const authorization = `Bearer ${body.access_token}`
      const uses = servers.map(({ address }) => post(address, '/1/me', { method: 'GET', headers: { authorization } }))
      return [...pages, ...(await Promise.all(uses))].map(({ status }) => status)
    }
    expect(await statuses()).toEqual([200, 200, 200, 200])

    const master = await redis.lag()
    await browsers[0]?.get('/security')
    await browsers[0]?.submit('/sign-out')
    expect((await postNative(device, application, '/auth/oauth/revoke', { token: body.access_token })).status).toBe(200)
    await master.kill()
    await redis.promotedAfter(master)
    await expect.poll(statuses, { timeout: 30_000 }).toEqual([303, 303, 401, 401])
    await sleep(1_000)
    expect(await statuses()).toEqual([303, 303, 401, 401])
  })
})

describe('two masters at once, each with clients', () => {
  let redis: SentinelRedis
  let service: GateService
  beforeAll(async () => {
    redis = await startSentinelRedis()
    service = await startGateService([redis.urlAs('first'), redis.urlAs('second')])
  })
  afterEach(() => redis.heal())
  afterAll(async () => {
    await service?.stop()
    await redis?.stop()
  })

  it('F16: a master that the sentinels do not see serves one process, its successor the other, and no outcome is wrong', async () => {
    await service.through(async () => {
      const before = await redis.lag()
      await redis.hideFromSentinels(before)
      const after = await redis.promotedAfter(before)
      await before.ask('client', 'kill', 'user', 'second')
      const users = async (node: RedisNode) => (await node.ask('client', 'list')).match(/user=(first|second)\b/g) ?? []
      await expect.poll(() => users(after), { timeout: 30_000 }).toContain('user=second')
      expect(await users(before)).not.toContain('user=second')
      for (let second = 0; second < 4; second += 1) {
        expect(await users(before)).toContain('user=first')
        expect([await hasKeys(before), await hasKeys(after)]).toEqual([true, true])
        await sleep(1_000)
      }
    })
  })
})
