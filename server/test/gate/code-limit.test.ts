/** The limit of codes per application: of one process, and of several on one Redis. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCodeLimit, createOwnCodeLimit } from '../../src/gate/code-limit.ts'
import { openRedis, type RedisLink } from '../../src/gate/redis-link.ts'
import { engineUrl } from '../rig/engines/database.ts'

describe('a process alone', () => {
  const make = (limit: number) => {
    let now = 1_000_000
    const codeLimit = createOwnCodeLimit(limit, () => now)
    const take = (network: string) => codeLimit.take({ applicationId: 'a', network }).passed
    const wait = (ms: number) => {
      now += ms
    }
    return { take, wait }
  }

  it('allows a burst again two seconds later', () => {
    const { take, wait } = make(3_000)
    for (let time = 0; time < 500; time += 1) take('x')
    expect(take('x')).toBe(false)
    wait(2_000)
    expect(Array.from({ length: 100 }, () => take('x'))).not.toContain(false)
  })

  it('remembers for more than a minute that a network received codes, and forgets it after two', () => {
    const { take, wait } = make(60)
    const empty = () => {
      while (take('loud'));
    }
    empty()
    expect(take('home'), 'has received nothing').toBe(true)
    wait(70_000)
    empty()
    expect(take('loud'), 'received codes').toBe(false)
    wait(130_000)
    empty()
    expect(take('home'), 'is new again').toBe(true)
  })
})

describe('processes that share a Redis', () => {
  const links: RedisLink[] = []
  beforeAll(async () => {
    for (const name of ['REDIS_URL', 'REDIS_CLUSTER_URL'] as const) links.push(openRedis(engineUrl(name), () => {}))
    for (const link of links) while (!link.reachable()) await sleep(10)
  })
  afterAll(() => Promise.all(links.map((link) => link.close())))

  it.each([0, 1])('allow together what one process alone allows, request by request (link %d)', async (at) => {
    const link = links[at] as RedisLink
    const limit = 600
    const [one, other] = [createCodeLimit(limit, link), createCodeLimit(limit, link)]
    const applicationId = randomUUID()
    const networks = Array.from({ length: 300 }, (_, index) => (index % 3 === 0 ? 'loud' : `home ${index % 23}`))
    const begun = performance.now()
    const shared: boolean[] = []
    for (const [index, network] of networks.entries()) {
      const limiter = index % 2 === 0 ? one : other
      shared.push((await limiter.take({ applicationId, network })).passed)
    }
    // Time of which the buckets earn tokens: none here, less than ten a second there.
    const earned = ((performance.now() - begun) * 10) / 1_000
    const alone = createOwnCodeLimit(limit, () => 0)
    const expected = networks.map((network) => alone.take({ applicationId, network }).passed)
    const until = expected.lastIndexOf(true)
    expect(shared.slice(0, 20)).toEqual(expected.slice(0, 20))
    const passed = (results: readonly boolean[]) => results.filter(Boolean).length
    expect(until).toBeGreaterThan(30)
    expect(passed(shared)).toBeGreaterThanOrEqual(passed(expected))
    expect(passed(shared)).toBeLessThanOrEqual(passed(expected) + 2 * earned + 2)
  })

  it('keep the limit over time, and refuse nothing to an application that keeps it', async () => {
    const link = links[0] as RedisLink
    const limit = 6_000
    const [one, other] = [createCodeLimit(limit, link), createCodeLimit(limit, link)]
    const [flooding, keeping] = [randomUUID(), randomUUID()]
    const begun = performance.now()
    let [flooded, kept, asked] = [0, 0, 0]
    while (performance.now() - begun < 4_000) {
      const taken = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 === 0 ? one : other).take({ applicationId: flooding, network: 'x' }),
        ),
      )
      flooded += taken.filter(({ passed }) => passed).length
      // Eighty a second where a hundred are allowed.
      if ((performance.now() - begun) * 0.08 > asked) {
        asked += 1
        if ((await other.take({ applicationId: keeping, network: 'y' })).passed) kept += 1
      }
    }
    const seconds = (performance.now() - begun) / 1_000
    expect(kept).toBe(asked)
    expect(flooded).toBeGreaterThan(seconds * 100)
    expect(flooded, 'the burst, the limit, and five of the reserve').toBeLessThanOrEqual(200 + seconds * 100 + 6)
  })
})
