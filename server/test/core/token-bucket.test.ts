/** How many codes an application gets, and who still gets one when it has had them. docs/interface/limits.md, "Limits". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { capacityOf, fullBucket, type TokenBucket, takeToken } from '../../src/core/token-bucket.ts'

const MINUTE = 60_000

/** One process and a clock of its own: who asks, in order, and whether they pass. */
function application(limit: number) {
  const received = new Map<string, number>()
  let bucket = fullBucket(limit, 0)
  let now = 0
  return {
    ask: (network: string): boolean => {
      const taken = takeToken({ limit, bucket, now, received: received.get(network) ?? 0 })
      bucket = taken.bucket
      if (taken.passed) received.set(network, (received.get(network) ?? 0) + 1)
      return taken.passed
    },
    wait: (ms: number) => {
      now += ms
    },
  }
}

const limits = fc.integer({ min: 12, max: 50_000 })
const parts = fc.record({
  tokens: fc.double({ min: 0, max: 1, noNaN: true }),
  reserve: fc.double({ min: 0, max: 1, noNaN: true }),
})
/** Parts of the capacity. */
const filled = (limit: number, { tokens, reserve }: { tokens: number; reserve: number }): TokenBucket => {
  return { tokens: tokens * capacityOf(limit), reserve: reserve * capacityOf(limit), at: 0 }
}

describe('an application', () => {
  test('gets a burst at once, and its limit over a minute, from one network as well', () => {
    const { ask, wait } = application(1_200)
    let passed = 0
    for (let second = 0; second < 60; second += 1) {
      for (let time = 0; time < 20; time += 1) if (ask('one')) passed += 1
      wait(1_000)
    }
    expect(passed, 'twenty a second, which is its limit').toBe(1_200)
    const { ask: again } = application(1_200)
    expect(
      Array.from({ length: 40 }, () => again('one')),
      'two seconds’ worth',
    ).not.toContain(false)
  })

  test('that floods gets its limit spread over the minute, not at once', () => {
    const { ask, wait } = application(1_200)
    const perSecond: number[] = []
    for (let second = 0; second < 120; second += 1) {
      let passed = 0
      for (let time = 0; time < 400; time += 1) {
        if (ask('one')) passed += 1
        wait(2.5)
      }
      perSecond.push(passed)
    }
    expect(perSecond[0]).toBeLessThan(200)
    for (const passed of perSecond.slice(5)) expect(passed).toBeLessThanOrEqual(23)
    expect(perSecond.reduce((sum, each) => sum + each)).toBeGreaterThanOrEqual(2_400)
  })

  test('never gets more than twice its limit and two bursts, from any networks', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.tuple(fc.nat(2_000), fc.nat(500)), { maxLength: 400 }), (limit, asks) => {
        const { ask, wait } = application(limit)
        let [passed, elapsed] = [0, 0]
        for (const [ms, network] of asks) {
          wait(ms)
          elapsed += ms
          for (let time = 0; time < 5; time += 1) if (ask(`${network} ${time} ${elapsed}`)) passed += 1
        }
        expect(passed).toBeLessThanOrEqual(2 * (capacityOf(limit) + (limit * elapsed) / MINUTE) + 1)
      }),
    )
  })

  test('gets a code from the reserve only when the bucket is empty', () => {
    const asked = { limit: 60, now: 0, received: 0 }
    const empty = filled(60, { tokens: 0, reserve: 1 })
    expect(takeToken({ ...asked, bucket: fullBucket(60, 0) }).bucket).toEqual({ tokens: 1, reserve: 2, at: 0 })
    expect(takeToken({ ...asked, bucket: empty }).bucket).toEqual({ tokens: 0, reserve: 1, at: 0 })
  })

  test('that emptied both buckets gets a burst again two seconds later, and no more than that after a quiet hour', () => {
    const bucket = filled(60, { tokens: 0, reserve: 0 })
    expect(takeToken({ limit: 60, bucket, now: 0, received: 0 })).toEqual({ passed: false, bucket })
    for (const now of [2_000, 3_600_000]) {
      const taken = takeToken({ limit: 60, bucket, now, received: 9 })
      expect(taken).toEqual({ passed: true, bucket: { tokens: 1, reserve: 2, at: now } })
    }
  })

  test('loses nothing when the clock goes backwards', () => {
    const bucket = { tokens: 1, reserve: 2, at: 5_000 }
    expect(takeToken({ limit: 60, bucket, now: 0, received: 0 }).bucket).toMatchObject({ tokens: 0, reserve: 2 })
  })
})

describe('a network', () => {
  test('without codes so far gets one until the reserve is used up', () => {
    fc.assert(
      fc.property(limits, parts, (limit, part) => {
        const bucket = filled(limit, part)
        const left = bucket.tokens >= 1 || bucket.reserve >= 1
        expect(takeToken({ limit, bucket, now: 0, received: 0 }).passed).toBe(left)
      }),
    )
  })

  test.each([
    [0, 0, true],
    [0, 4, true],
    [0, 5, false],
    [1 / 10, 4, true],
    [1 / 4, 1, true],
    [1 / 4, 2, false],
    [1 / 2, 0, true],
    [1 / 2, 1, false],
    [1, 0, true],
  ])('from a reserve of which %f is used with this code, with %d codes so far: %s', (used, received, passed) => {
    const limit = 12_000
    const reserve = Math.min(capacityOf(limit), (1 - used) * capacityOf(limit) + 1)
    expect(takeToken({ limit, bucket: { tokens: 0, reserve, at: 0 }, now: 0, received }).passed).toBe(passed)
  })

  test('with more codes never gets one where a network with fewer does not', () => {
    fc.assert(
      fc.property(limits, parts, fc.nat(1_000), fc.nat(1_000), (limit, part, one, other) => {
        const asked = { limit, bucket: filled(limit, part), now: 0 }
        if (!takeToken({ ...asked, received: Math.max(one, other) }).passed) return
        expect(takeToken({ ...asked, received: Math.min(one, other) }).passed).toBe(true)
      }),
    )
  })

  test('is judged more strictly the emptier the buckets are', () => {
    fc.assert(
      fc.property(limits, parts, parts, fc.nat(100), (limit, one, other, received) => {
        const emptier = { tokens: Math.min(one.tokens, other.tokens), reserve: Math.min(one.reserve, other.reserve) }
        const fuller = { tokens: Math.max(one.tokens, other.tokens), reserve: Math.max(one.reserve, other.reserve) }
        const asked = { limit, now: 0, received }
        if (!takeToken({ ...asked, bucket: filled(limit, emptier) }).passed) return
        expect(takeToken({ ...asked, bucket: filled(limit, fuller) }).passed).toBe(true)
      }),
    )
  })
})

describe('a thief with the secret', () => {
  test.each([1, 40, 1_000, 10_000])(
    'in %d networks that all ask without end leaves homes their codes, once they have had one each',
    (networks) => {
      const { ask, wait } = application(12_000)
      let [homes, passed, next] = [0, 0, 0]
      for (let step = 0; step < 1_200; step += 1) {
        // Each tenth of a second: 200 requests of the thief and 15 of homes: nine thousand a minute.
        for (let time = 0; time < 200; time += 1) {
          ask(`thief ${next % networks}`)
          next += 1
        }
        for (let home = 0; home < 15; home += 1) {
          homes += 1
          const given = ask(`home ${homes}`)
          if (given && step >= 600) passed += 1
        }
        wait(100)
      }
      expect(passed / (homes / 2)).toBeGreaterThan(0.99)
    },
  )
})
