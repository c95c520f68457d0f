/** The model of an installation: what it computes from figures that are easy to multiply. docs/scale.md, "Plan an installation". */
import { describe, expect, test } from 'vitest'
import { readFigures } from '../plan/figures.ts'
import {
  assumptionsOf,
  costOf,
  type Demand,
  devicesOfOneRedis,
  type Figures,
  loadOf,
  PARTS,
  type Processor,
  planFor,
} from '../plan/model.ts'
import { bytes, renderPlans } from '../plan/table.ts'

const processor = (poll: number, wakeUp = 0): Processor => ({
  poll,
  wakeUp,
  read: 10,
  heldPoll: 100,
  codeRequest: 1_000,
  idleProcess: 10_000,
})

const FIGURES: Figures = {
  processor: { server: processor(50), redis: processor(5), postgres: processor(1) },
  bytes: {
    postgresPerCode: 400,
    walPerCode: 1_000,
    redisPerCode: 250,
    wirePerPoll: 800,
    wirePerCodeRequest: 1_500,
  },
  memory: { perProcess: 300_000_000, perHeldPoll: 17_000 },
}

const DEMAND: Demand = {
  devices: 1_000_000,
  held: false,
  intervalSeconds: 5,
  lifetimeSeconds: 500,
}

describe('the load', () => {
  test('a device polls once per interval, and its row is read once in the ten seconds of a hint', () => {
    expect(loadOf(FIGURES, DEMAND)).toMatchObject({
      codes: 1_000_000,
      pollsPerSecond: 200_000,
      readsPerSecond: 100_000,
      codeRequestsPerSecond: 2_000,
      heldPolls: 0,
      heldPollsPerSecond: 0,
    })
  })

  test('a poll after the hint has expired reads the row', () => {
    expect(loadOf(FIGURES, { ...DEMAND, intervalSeconds: 20 })).toMatchObject({
      pollsPerSecond: 50_000,
      readsPerSecond: 50_000,
    })
  })

  test('a held poll comes once in 25 seconds', () => {
    expect(loadOf(FIGURES, { ...DEMAND, held: true })).toMatchObject({
      pollsPerSecond: 0,
      heldPolls: 1_000_000,
      heldPollsPerSecond: 40_000,
    })
  })

  test('processes are half busy at most, their own work without requests included', () => {
    // 200,000 polls of 50, 100,000 reads of 10 and 2,000 code requests of 1,000 microseconds are 13 seconds in every second.
    expect(loadOf(FIGURES, DEMAND).processes).toBe(Math.ceil(13 / 0.49))
  })

  test('a process holds 20,000 polls at most', () => {
    const light = {
      ...FIGURES,
      processor: { ...FIGURES.processor, server: { ...processor(0), heldPoll: 0, codeRequest: 0 } },
    }
    expect(loadOf(light, { ...DEMAND, held: true }).processes).toBe(50)
  })
})

describe('the cost', () => {
  test('is the sum of what every request and every process takes', () => {
    const load = { ...loadOf(FIGURES, DEMAND), processes: 10 }
    const { cores, memory, storageBytes, walBytesPerSecond, trafficBytesPerSecond } = costOf(FIGURES, load, 500)
    expect(cores.server).toBeCloseTo(13.1, 6)
    expect(cores.redis).toBeCloseTo(1 + 1 + 2 + 0.1, 6)
    expect(memory).toEqual({ server: 3_000_000_000, redis: 250_000_000, postgres: 400_000_000 })
    expect(storageBytes).toBe(2_000 * (500 + 25 * 3600) * 400)
    expect(walBytesPerSecond).toBe(2_000_000)
    expect(trafficBytesPerSecond).toBe(200_000 * 800 + 2_000 * 1_500)
  })

  test('a poll that finds its process idle wakes it up', () => {
    const [poll, wakeUp, processes] = [50, 100, 4]
    const load = { ...loadOf(FIGURES, DEMAND), pollsPerSecond: 10_000, readsPerSecond: 0, codeRequestsPerSecond: 0 }
    const costs = (each: number) => {
      const server = { ...processor(poll, each), idleProcess: 0 }
      return costOf({ ...FIGURES, processor: { ...FIGURES.processor, server } }, { ...load, processes }, 500).cores
        .server
    }
    expect(costs(0)).toBeCloseTo(0.5, 6)
    // 1.2 cores of 4 processes: they are idle for 70 % of the time, and so are 70 % of the polls alone.
    expect(costs(wakeUp)).toBeCloseTo(1.2, 6)
    expect(costs(wakeUp)).toBeCloseTo(0.5 + 1 * (1 - costs(wakeUp) / processes), 6)
  })

  test('one Redis is half busy with as many devices as it paces at most', () => {
    const { cost, load } = planFor(FIGURES, { ...DEMAND, devices: devicesOfOneRedis(FIGURES, DEMAND) })
    expect(cost.cores.redis - load.processes * 0.01).toBeCloseTo(0.5, 3)
  })
})

test('the first assumption is the one whose change saves most', () => {
  const [first, second] = assumptionsOf(FIGURES, DEMAND)
  expect(first?.text).toBe('a device polls every 5 s')
  expect(first?.coresIfDoubled).toBeLessThan(second?.coresIfDoubled ?? 0)
  expect(second?.text).toBe('a device requests a code every 500 s')
})

test('the measured figures are all there, and above 0 for the server', () => {
  const { processor: measured, bytes: sizes, memory } = readFigures()
  for (const value of [...Object.values(measured.server), ...Object.values(sizes), ...Object.values(memory)])
    expect(value).toBeGreaterThan(0)
  for (const part of PARTS) for (const value of Object.values(measured[part])) expect(value).toBeGreaterThanOrEqual(0)
})

test('the table has a column for each plan, aligned to the right', () => {
  const demands = [DEMAND, { ...DEMAND, held: true }]
  const lines = renderPlans(demands.map((demand) => ({ demand, ...planFor(FIGURES, demand) }))).split('\n')
  expect(lines[0]).toMatch(/^waiting devices +1,000,000 +1,000,000$/)
  expect(new Set(lines.map((line) => line.length)).size).toBe(1)
})

test.each([
  [999, '999 B'],
  [1_500, '1.5 kB'],
  [2_345_678_901, '2.35 GB'],
  [0, '0 B'],
])('%i bytes are written %s', (value, text) => {
  expect(bytes(value)).toBe(text)
})
