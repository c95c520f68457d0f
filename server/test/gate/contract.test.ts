/** gate/gate.ts, "Gate": one contract, three implementations, real engines. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { MAX_INTERVAL_SECONDS } from '../../src/core/reviews/review.ts'
import { type Gate, paceFor } from '../../src/gate/gate.ts'
import { createLocalGate } from '../../src/gate/local-gate.ts'
import { createRedisGate } from '../../src/gate/redis-gate.ts'
import { openRedis } from '../../src/gate/redis-link.ts'
import { engineUrl } from '../rig/engines/database.ts'

const PACE_MS = 1_000

const makers: { name: string; make: () => Gate }[] = [
  { name: 'in process', make: () => createLocalGate() },
  { name: 'on Redis', make: () => createRedisGate(openRedis(engineUrl('REDIS_URL'), () => {})) },
  { name: 'on a Redis cluster', make: () => createRedisGate(openRedis(engineUrl('REDIS_CLUSTER_URL'), () => {})) },
]

describe.each(makers)('a gate $name', ({ make }) => {
  let gate: Gate
  beforeAll(async () => {
    gate = make()
    const id = randomUUID()
    await vi.waitFor(async () => expect((await gate.poll(id, 60_000)).early).toBe(true))
  })
  afterAll(() => gate.close())

  it('lets the first poll of a code through at once', async () => {
    expect(await gate.poll(randomUUID(), PACE_MS)).toEqual({ early: false, pending: false })
  })

  it('reports a second poll as early until the pace has passed', async () => {
    const id = randomUUID()
    await gate.poll(id, PACE_MS)
    expect((await gate.poll(id, PACE_MS)).early).toBe(true)
    await sleep(PACE_MS + 20)
    expect((await gate.poll(id, PACE_MS)).early).toBe(false)
  })

  it('does not restart the pace for an early poll', async () => {
    // Tried again if the machine is so slow that the second poll comes in time.
    for (let attempt = 1; ; attempt += 1) {
      const [id, begun] = [randomUUID(), performance.now()]
      await gate.poll(id, PACE_MS)
      await sleep(PACE_MS * 0.7)
      const { early } = await gate.poll(id, PACE_MS)
      if (performance.now() - begun >= PACE_MS && attempt < 10) continue
      expect(early).toBe(true)
      await sleep(PACE_MS * 0.3 + 20)
      expect((await gate.poll(id, PACE_MS)).early).toBe(false)
      return
    }
  })

  it('lets exactly one of many polls at the same instant through', async () => {
    const id = randomUUID()
    const polls = await Promise.all(Array.from({ length: 50 }, () => gate.poll(id, PACE_MS)))
    expect(polls.filter((poll) => !poll.early)).toHaveLength(1)
  })

  it('paces each code separately, in any batch', async () => {
    const ids = Array.from({ length: 200 }, () => randomUUID())
    const hinted = ids.filter((_, index) => index % 3 === 0)
    for (const id of hinted) gate.hint(id, 5_000)
    await Promise.all(ids.slice(0, 100).map((id) => gate.poll(id, 5_000)))
    const polls = await Promise.all(ids.map((id) => gate.poll(id, 5_000)))
    expect(polls).toEqual(ids.map((id, index) => ({ early: index < 100, pending: hinted.includes(id) })))
  })

  it('keeps a hint for its lifetime, and no longer', async () => {
    const id = randomUUID()
    gate.hint(id, 3_000)
    expect((await gate.poll(id, PACE_MS)).pending).toBe(true)
    await sleep(3_050)
    expect((await gate.poll(id, PACE_MS)).pending).toBe(false)
  })

  it('removes a dropped hint', async () => {
    const id = randomUUID()
    gate.hint(id, 5_000)
    await gate.drop(id)
    expect((await gate.poll(id, PACE_MS)).pending).toBe(false)
  })

  it('ignores a hint that arrives after the drop: it was read before the decision', async () => {
    const id = randomUUID()
    await gate.drop(id)
    gate.hint(id, 5_000)
    expect((await gate.poll(id, PACE_MS)).pending).toBe(false)
  })

  it('accepts a drop without a hint', async () => {
    await expect(gate.drop(randomUUID())).resolves.toBeUndefined()
    expect(gate.answers).toBe(true)
  })

  it('believes no hint that was left before it was told to forget them', async () => {
    const id = randomUUID()
    gate.hint(id, 5_000)
    await vi.waitFor(async () => expect((await gate.poll(id, PACE_MS)).pending).toBe(true))
    gate.forgetHints()
    expect((await gate.poll(id, PACE_MS)).pending).toBe(false)
  })
})

const MAX_PACE_MS = paceFor(MAX_INTERVAL_SECONDS)

describe('the longest interval that a review can set', () => {
  it('is kept by a gate in process, whatever else is polled, and ends on time', async () => {
    let now = 0
    const gate = createLocalGate(() => now)
    const id = randomUUID()
    await gate.poll(id, MAX_PACE_MS)
    for (now = 1_000; now < MAX_PACE_MS; now += 1_000) await gate.poll(randomUUID(), PACE_MS)
    now = MAX_PACE_MS - 1
    expect((await gate.poll(id, MAX_PACE_MS)).early).toBe(true)
    now = MAX_PACE_MS
    expect((await gate.poll(id, MAX_PACE_MS)).early).toBe(false)
  })

  it.each([1, 60, 61, 122, 123, 200, 269])(
    'is kept by a gate in process that nobody asked for %i s',
    async (seconds) => {
      let now = 0
      const gate = createLocalGate(() => now)
      const id = randomUUID()
      await gate.poll(id, MAX_PACE_MS)
      now = seconds * 1_000
      expect((await gate.poll(id, MAX_PACE_MS)).early).toBe(true)
      now = MAX_PACE_MS - 1
      expect((await gate.poll(id, MAX_PACE_MS)).early).toBe(true)
    },
  )

  it.each(['REDIS_URL', 'REDIS_CLUSTER_URL'] as const)('is how long a pace lives at %s', async (engine) => {
    const link = openRedis(engineUrl(engine), () => {})
    const gate = createRedisGate(link)
    await expect.poll(() => link.reachable()).toBe(true)
    const id = randomUUID()
    await gate.poll(id, MAX_PACE_MS)
    const bucket = Number.parseInt(id.slice(-2), 16) % 64
    const leftMs = await link.redis.pttl(`p{${bucket}}${id}`)
    expect(leftMs).toBeGreaterThan(MAX_PACE_MS - 30_000)
    expect(leftMs).toBeLessThanOrEqual(MAX_PACE_MS)
    expect((await gate.poll(id, MAX_PACE_MS)).early).toBe(true)
    await gate.close()
  })
})

describe.each(makers.slice(1))('two gates $name', ({ make }) => {
  it('are one gate for all processes', async () => {
    const [gate, other] = [make(), make()]
    // Until both are connected each paces on its own.
    const share = async () => {
      const probe = randomUUID()
      await gate.poll(probe, 5_000)
      return (await other.poll(probe, 5_000)).early
    }
    await expect.poll(share, { timeout: 30_000 }).toBe(true)
    const id = randomUUID()
    gate.hint(id, 5_000)
    await gate.poll(id, 5_000)
    expect(await other.poll(id, 5_000)).toEqual({ early: true, pending: true })
    await other.drop(id)
    expect((await gate.poll(id, 5_000)).pending).toBe(false)
    await Promise.all([gate.close(), other.close()])
  })
})

it('repeat a drop that Redis did not answer, as soon as it answers again', async () => {
  const link = openRedis(engineUrl('REDIS_URL'), () => {})
  const deciding = createRedisGate(link)
  const polling = createRedisGate(openRedis(engineUrl('REDIS_URL'), () => {}))
  await sleep(300)
  const id = randomUUID()
  polling.hint(id, 10_000)
  link.failed('it did not answer in time')
  await deciding.drop(id)
  expect((await polling.poll(id, PACE_MS)).pending).toBe(true)
  await expect.poll(async () => (await polling.poll(id, PACE_MS)).pending, { timeout: 30_000 }).toBe(false)
  await Promise.all([deciding.close(), polling.close()])
})

it('does not take a late reply for an answer while it leaves Redis alone', async () => {
  const link = openRedis(engineUrl('REDIS_URL'), () => {})
  const gate = createRedisGate(link)
  await vi.waitFor(() => expect(link.reachable()).toBe(true))
  link.failed('no answer')
  link.succeeded()
  expect([gate.answers, link.reachable()]).toEqual([false, false])
  await vi.waitFor(() => expect(link.reachable()).toBe(true))
  await gate.poll(randomUUID(), PACE_MS)
  expect(gate.answers).toBe(true)
  await gate.close()
})

it('knows that Redis answers again from a decision alone, without a poll', async () => {
  const link = openRedis(engineUrl('REDIS_URL'), () => {})
  const gate = createRedisGate(link)
  await vi.waitFor(() => expect(link.reachable()).toBe(true))
  link.failed('no answer')
  expect(gate.answers).toBe(false)
  await vi.waitFor(() => expect(link.reachable()).toBe(true))
  await gate.drop(randomUUID())
  expect(gate.answers).toBe(true)
  await gate.close()
})

it.each(['REDIS_URL', 'REDIS_CLUSTER_URL'] as const)(
  'knows that %s answers again without a single request',
  async (engine) => {
    const told: boolean[] = []
    const link = openRedis(engineUrl(engine), (answers) => told.push(answers))
    await vi.waitFor(() => expect(link.reachable()).toBe(true))
    link.failed('no answer')
    expect(link.answers).toBe(false)
    await expect.poll(() => link.answers, { timeout: 30_000 }).toBe(true)
    expect(told.slice(-2)).toEqual([false, true])
    await link.close()
  },
)

describe('the gate in process', () => {
  it('evicts codes unused for two minutes, and none earlier', async () => {
    let now = 0
    const gate = createLocalGate(() => now)
    const id = randomUUID()
    await gate.poll(id, 54_000)
    now = 53_000
    await gate.poll(randomUUID(), 1)
    expect((await gate.poll(id, 54_000)).early).toBe(true)
    now = 62_000
    gate.hint(id, 10_000)
    now = 71_999
    expect((await gate.poll(id, 54_000)).pending).toBe(true)
    now = 300_000
    expect(await gate.poll(id, 54_000)).toEqual({ early: false, pending: false })
  })
})
