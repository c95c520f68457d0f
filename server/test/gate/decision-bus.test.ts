/** Decisions announced from process to process: over a single Redis, over a cluster, and without Redis. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { createDecisionBus, type DecisionBus } from '../../src/gate/decision-bus.ts'
import { openRedis, type RedisLink } from '../../src/gate/redis-link.ts'
import { engineUrl } from '../rig/engines/database.ts'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

/** As a process has it: a link and a bus. */
async function openBus(url: string): Promise<{ bus: DecisionBus; link: RedisLink; heard: string[] }> {
  const link = openRedis(url, () => {})
  const bus = createDecisionBus(link)
  const heard: string[] = []
  bus.listen((id) => void heard.push(id))
  opened.push(link.close, bus.close)
  await expect.poll(() => link.reachable(), { timeout: 30_000 }).toBe(true)
  return { bus, link, heard }
}

it.each(['REDIS_URL', 'REDIS_CLUSTER_URL'] as const)('%s: what one process announces, all hear', async (engine) => {
  const url = engineUrl(engine).replace(/^redis:/, engine === 'REDIS_URL' ? 'redis:' : 'redis+cluster:')
  const [one, other] = await Promise.all([openBus(url), openBus(url)])
  // Subscribing takes a moment; until then announcements are lost, which the decision feed makes up for.
  for (let attempt = 0; attempt < 50 && other.heard.length === 0; attempt += 1) {
    await one.bus.announce('a code')
    await sleep(100)
  }
  expect(new Set([...one.heard, ...other.heard])).toEqual(new Set(['a code']))
  expect(other.heard.length).toBeGreaterThan(0)
  expect([one.link.failures, other.link.failures]).toEqual([0, 0])
})

it('a process that listens to a cluster only after it has connected hears the others', async () => {
  const url = engineUrl('REDIS_CLUSTER_URL').replace(/^redis:/, 'redis+cluster:')
  const [one, late] = [await openBus(url), openRedis(url, () => {})]
  opened.push(late.close)
  await expect.poll(() => late.reachable(), { timeout: 30_000 }).toBe(true)
  const heard: string[] = []
  createDecisionBus(late).listen((id) => void heard.push(id))
  await expect
    .poll(() => one.bus.announce('a code').then(() => heard), { timeout: 10_000, interval: 100 })
    .toContain('a code')
})

it('without Redis a process hears its own', async () => {
  const bus = createDecisionBus(null)
  const heard: string[] = []
  bus.listen((id) => void heard.push(id))
  await bus.announce('a code')
  expect(heard).toEqual(['a code'])
})
