/** How many codes an application gets, and who still gets one when it has had them. docs/interface.md, "Limits". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { burstOf, EMPTY_FILL, exchangeLevel, type Fill, refundCode, takeCode } from '../../src/core/share.ts'

const MINUTE = 60_000

/** One process and a clock of its own: who asks, in order, and whether they pass. */
function application(limit: number) {
  const given = new Map<string, number>()
  let fill: Fill = EMPTY_FILL
  let now = 0
  return {
    ask: (network: string): boolean => {
      const taken = takeCode({ limit, fill, now, own: given.get(network) ?? 0, part: 1 })
      fill = taken.fill
      if (taken.passed) given.set(network, (given.get(network) ?? 0) + 1)
      return taken.passed
    },
    wait: (ms: number) => {
      now += ms
    },
  }
}

const limits = fc.integer({ min: 12, max: 50_000 })
const fills = fc.record({
  main: fc.double({ min: 0, max: 1, noNaN: true }),
  reserve: fc.double({ min: 0, max: 1, noNaN: true }),
})
/** Of a burst. */
const filled = (limit: number, { main, reserve }: { main: number; reserve: number }): Fill => {
  return { main: main * burstOf(limit), reserve: reserve * burstOf(limit), at: 0 }
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
        expect(passed).toBeLessThanOrEqual(2 * (burstOf(limit) + (limit * elapsed) / MINUTE) + 1)
      }),
    )
  })

  test('gets a code from the reserve only when the bucket is full', () => {
    const asked = { limit: 60, now: 0, own: 0, part: 1 }
    const full = filled(60, { main: 1, reserve: 0 })
    expect(takeCode({ ...asked, fill: EMPTY_FILL })).toMatchObject({ passed: true, from: 'main' })
    expect(takeCode({ ...asked, fill: full })).toMatchObject({ passed: true, from: 'reserve' })
  })

  test('that was refused is told how long to wait', () => {
    const fill = { main: burstOf(60), reserve: burstOf(60), at: 0 }
    expect(takeCode({ limit: 60, fill, now: 0, own: 0, part: 1 })).toEqual({ passed: false, fill, waitMs: 2_000 })
    expect(takeCode({ limit: 60, fill, now: 2_000, own: 9, part: 1 }).passed).toBe(true)
  })
})

describe('a network', () => {
  test('without codes so far gets one until the reserve is used up', () => {
    fc.assert(
      fc.property(limits, fills, (limit, part) => {
        const fill = filled(limit, part)
        const room = fill.main + 1 <= burstOf(limit) || fill.reserve + 1 <= burstOf(limit)
        expect(takeCode({ limit, fill, now: 0, own: 0, part: 1 }).passed).toBe(room)
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
  ])('from a reserve that this code fills to %f, with %d codes so far: %s', (level, own, passed) => {
    const limit = 12_000
    const fill = { main: burstOf(limit), reserve: Math.max(0, level * burstOf(limit) - 1), at: 0 }
    expect(takeCode({ limit, fill, now: 0, own, part: 1 }).passed).toBe(passed)
  })

  test('with more codes never gets one where a network with fewer does not', () => {
    fc.assert(
      fc.property(limits, fills, fc.nat(1_000), fc.nat(1_000), (limit, part, one, other) => {
        const asked = { limit, fill: filled(limit, part), now: 0, part: 1 }
        if (!takeCode({ ...asked, own: Math.max(one, other) }).passed) return
        expect(takeCode({ ...asked, own: Math.min(one, other) }).passed).toBe(true)
      }),
    )
  })

  test('is judged more strictly the fuller the buckets are', () => {
    fc.assert(
      fc.property(limits, fills, fills, fc.nat(100), (limit, one, other, own) => {
        const emptier = { main: Math.min(one.main, other.main), reserve: Math.min(one.reserve, other.reserve) }
        const fuller = { main: Math.max(one.main, other.main), reserve: Math.max(one.reserve, other.reserve) }
        const asked = { limit, now: 0, own, part: 1 }
        if (!takeCode({ ...asked, fill: filled(limit, fuller) }).passed) return
        expect(takeCode({ ...asked, fill: filled(limit, emptier) }).passed).toBe(true)
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

describe('several processes that share a limit', () => {
  const exchange = { level: 0, issued: 0, sinceMs: 0, now: 0, part: 1 }

  test('codes issued by others fill the bucket, beyond a full one', () => {
    expect(exchangeLevel(600, EMPTY_FILL, { ...exchange, issued: 12 }).main).toBe(12)
    expect(exchangeLevel(600, EMPTY_FILL, { ...exchange, level: 30, issued: 12 }).main).toBe(42)
    expect(burstOf(600)).toBe(20)
  })

  test('what was issued evenly has drained meanwhile', () => {
    const since = { ...exchange, sinceMs: 1_000, now: 1_000 }
    expect(exchangeLevel(600, EMPTY_FILL, { ...since, level: 5, issued: 12 }).main).toBe(7)
    expect(exchangeLevel(600, EMPTY_FILL, { ...since, issued: 8 }).main).toBe(0)
  })

  test('the level is at least that of the codes issued here', () => {
    const fill = { main: 18, reserve: 6, at: 0 }
    const since = { ...exchange, issued: 20, sinceMs: 1_000, now: 1_000, part: 0.5 }
    expect(exchangeLevel(600, fill, since)).toEqual({ main: 10, reserve: 1, at: 1_000 })
    expect(exchangeLevel(600, fill, { ...since, issued: 19 })).toEqual({ main: 9, reserve: 1, at: 1_000 })
    expect(exchangeLevel(600, fill, { ...since, issued: 0 })).toEqual({ main: 8, reserve: 1, at: 1_000 })
  })

  test('the level is at most half a minute, however many codes were issued without an exchange', () => {
    expect(exchangeLevel(600, EMPTY_FILL, { ...exchange, issued: 1_000_000 }).main).toBe(300)
  })

  test('a code that was not issued after all is taken out', () => {
    expect(refundCode({ main: 12, reserve: 3, at: 7 })).toEqual({ main: 11, reserve: 3, at: 7 })
    expect(refundCode(EMPTY_FILL).main).toBe(0)
  })

  test('a process keeps its share of the reserve, at least one code', () => {
    const limit = 12_000
    const full = { main: burstOf(limit), reserve: 0, at: 0 }
    const given = (part: number) => {
      let [fill, count]: [Fill, number] = [full, 0]
      for (;;) {
        const taken = takeCode({ limit, fill, now: 0, own: 0, part })
        if (!taken.passed) return count
        fill = taken.fill
        count += 1
      }
    }
    expect([given(1), given(0.25), given(0)]).toEqual([400, 100, 1])
  })
})
