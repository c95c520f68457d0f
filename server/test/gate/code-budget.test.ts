/** Code budgets: of one process, and of several that exchange their counts through Redis once a second. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCodeBudget } from '../../src/gate/code-budget.ts'
import { openRedis, type RedisLink } from '../../src/gate/redis-link.ts'
import { engineUrl } from '../rig/engines/database.ts'

describe('the budget of an application', () => {
  const make = (limit: number) => {
    let now = 1_000_000
    const budget = createCodeBudget(limit, null, () => now)
    const take = (network: string) => budget.take({ applicationId: 'a', network }).passed
    const wait = (ms: number) => {
      now += ms
    }
    return { take, wait, budget }
  }

  it('refills: a burst is available again two seconds later', () => {
    const { take, wait } = make(3_000)
    for (let time = 0; time < 500; time += 1) take('x')
    expect(take('x')).toBe(false)
    wait(2_000)
    expect(Array.from({ length: 100 }, () => take('x'))).not.toContain(false)
  })

  it('counts no code any more that PostgreSQL may have lost: its device asks again', () => {
    const { take, wait, budget } = make(12)
    while (take('home'));
    wait(100)
    expect(take('home')).toBe(false)
    budget.forget()
    expect(take('home')).toBe(true)
  })

  it('keeps the count of a network for more than a minute, and deletes it after two', () => {
    const { take, wait } = make(12)
    // One at once, one every five seconds; the reserve holds one.
    const use = () => take('loud')
    const full = () => {
      while (use());
    }
    full()
    expect(take('home'), 'has had nothing').toBe(true)
    wait(2_500)
    full()
    expect(take('home'), 'has had one').toBe(false)
    wait(130_000)
    expect([use(), take('home')], 'both are new').toEqual([true, true])
  })
})

describe('processes that share the limit of an application', () => {
  const LIMIT = 12_000
  /** Requests arrive this often, and all from one network: the reserve is not for them. */
  const STEP_MS = 50
  let link: RedisLink
  beforeAll(async () => {
    link = openRedis(engineUrl('REDIS_URL'), () => {})
    while (!link.reachable()) await sleep(10)
  })
  afterAll(() => link.close())

  const open = (count: number) => {
    const applicationId = randomUUID()
    let now = 1_000_000
    const budgets = Array.from({ length: count }, () => createCodeBudget(LIMIT, link, () => now))
    /** Codes issued by each process while each is asked for so many per minute. */
    const issue = async (seconds: number, perMinute: readonly number[]): Promise<readonly number[]> => {
      const issued = budgets.map(() => 0)
      const due = budgets.map(() => 0)
      for (let step = 0; step < (seconds * 1_000) / STEP_MS; step += 1) {
        now += STEP_MS
        budgets.forEach((budget, at) => {
          due[at] = (due[at] ?? 0) + ((perMinute[at] ?? 0) * STEP_MS) / 60_000
          for (; (due[at] ?? 0) >= 1; due[at] = (due[at] ?? 0) - 1) {
            if (budget.take({ applicationId, network: 'x' }).passed) issued[at] = (issued[at] ?? 0) + 1
          }
        })
        if (now % 1_000 === 0) await Promise.all(budgets.map((budget) => budget.exchange()))
      }
      return issued
    }
    return { issue, budgets, applicationId }
  }
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

  it.each([
    ['two, with three times the limit', [18_000, 18_000]],
    ['four, each with less than the limit', [7_500, 7_500, 7_500, 7_500]],
    ['four, with ten times the limit', [30_000, 30_000, 30_000, 30_000]],
    ['eight, of which one has most requests', [60_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000]],
  ])('issue the limit together: %s', async (_, perMinute) => {
    const { issue } = open(perMinute.length)
    await issue(60, perMinute)
    const issued = sum(await issue(60, perMinute))
    expect(issued).toBeLessThan(LIMIT * 1.1)
    expect(issued).toBeGreaterThan(LIMIT * 0.9)
  })

  it('refuse nothing to an application that keeps its limit', async () => {
    const perMinute = [2_700, 2_700, 2_700, 2_700]
    const { issue } = open(4)
    expect(sum(await issue(120, perMinute))).toBeGreaterThan(2 * 10_800 - 10)
  })

  it('refuse no burst to an application that was quiet for long', async () => {
    const { issue } = open(2)
    await issue(1, [3_600, 3_600])
    await issue(60, [1_200, 0])
    for (let second = 0; second < 5; second += 1) expect(await issue(1, [3_600, 3_600])).toEqual([60, 60])
  })

  it('refuse no burst in a process that starts later', async () => {
    const { issue, applicationId } = open(2)
    await issue(50, [6_000, 0])
    // The clock of Redis: fifty seconds of its minute have passed.
    await link.redis.pexpire(`a:${applicationId}`, 10_000)
    for (let second = 0; second < 5; second += 1) expect(await issue(1, [6_000, 3_600])).toEqual([100, 60])
  })

  it('share the limit anew half a minute after they could not exchange their counts', async () => {
    const { issue, budgets } = open(4)
    const exchanges = budgets.map((budget) => budget.exchange)
    for (const budget of budgets) budget.exchange = async () => {}
    const perMinute = [30_000, 30_000, 30_000, 30_000]
    expect(sum(await issue(120, perMinute)), 'each counts only its own').toBeGreaterThan(LIMIT * 6)
    budgets.forEach((budget, at) => {
      budget.exchange = exchanges[at] as typeof budget.exchange
    })
    await issue(30, perMinute)
    const issued = sum(await issue(60, perMinute))
    expect(issued).toBeLessThan(LIMIT * 1.1)
    expect(issued).toBeGreaterThan(LIMIT * 0.9)
  })
})
