/** Which codes an application still gets when it has had its limit. docs/interface.md, "Limits". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mayHaveCode } from '../../src/core/share.ts'

const limits = fc.integer({ min: 1, max: 20_000 })

/** One process, one minute: who asks, in order, and how many of each network pass. */
function minute(limit: number) {
  const given = new Map<string, number>()
  let total = 0
  return {
    ask: (network: string): boolean => {
      const own = given.get(network) ?? 0
      if (!mayHaveCode({ limit, total, here: total, own })) return false
      given.set(network, own + 1)
      total += 1
      return true
    },
    total: () => total,
  }
}

describe('an application', () => {
  test('gets its limit, whoever asks', () => {
    fc.assert(
      fc.property(limits, fc.nat(), fc.nat(), (limit, given, own) => {
        const total = given % limit
        expect(mayHaveCode({ limit, total, here: total, own: own % (total + 1) })).toBe(true)
      }),
    )
  })

  test('never gets more than twice its limit', () => {
    const { ask, total } = minute(50)
    for (let network = 0; network < 500; network += 1) ask(`network ${network}`)
    expect(total()).toBe(100)
  })

  test('gets no more than its limit and half of it from one network, however often it asks', () => {
    const { ask, total } = minute(100)
    for (let time = 0; time < 10_000; time += 1) ask('one')
    expect(total()).toBeGreaterThanOrEqual(100)
    expect(total()).toBeLessThanOrEqual(150)
  })
})

describe('a network', () => {
  test('that has had nothing gets a code until twice the limit was given', () => {
    fc.assert(
      fc.property(limits, fc.nat(), fc.nat(), (limit, given, part) => {
        const total = given % (2 * limit)
        expect(mayHaveCode({ limit, total, here: part % (total + 1), own: 0 })).toBe(true)
      }),
    )
  })

  test('that has had more never gets a code where one that has had less does not', () => {
    fc.assert(
      fc.property(limits, fc.nat(), fc.nat(), fc.nat(), (limit, given, one, other) => {
        const total = given % (2 * limit)
        const asked = { limit, total, here: total }
        const [less, more] = [Math.min(one, other), Math.max(one, other)]
        if (mayHaveCode({ ...asked, own: more })) expect(mayHaveCode({ ...asked, own: less })).toBe(true)
      }),
    )
  })

  test('is judged more strictly the further the application is beyond its limit', () => {
    fc.assert(
      fc.property(limits, fc.nat(), fc.nat(), (limit, given, own) => {
        const total = given % (2 * limit)
        const now = mayHaveCode({ limit, total, here: total, own })
        const later = mayHaveCode({ limit, total: total + 1, here: total + 1, own })
        if (later) expect(now).toBe(true)
      }),
    )
  })
})

describe('a thief with the secret', () => {
  test('and fewer networks than half the limit, in whatever order they ask, leaves the rest of that half to others', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 400 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 2_000 }),
        fc.nat(),
        (limit, asks, many) => {
          const networks = 1 + (many % Math.floor(limit / 2))
          const { ask } = minute(limit)
          for (const each of asks) ask(`thief ${each % networks}`)
          for (let round = 0; round < 3 * limit; round += 1) ask(`thief ${round % networks}`)
          const honest = Math.floor(limit / 2) - networks
          for (let device = 0; device < honest; device += 1) expect(ask(`home ${device}`)).toBe(true)
        },
      ),
    )
  })

  test('and ten thousand networks that all ask without end leaves six thousand codes a minute to homes', () => {
    const { ask } = minute(12_000)
    for (let round = 0; round < 5; round += 1) {
      for (let network = 0; network < 10_000; network += 1) ask(`thief ${network}`)
    }
    let homes = 0
    while (homes < 10_000 && ask(`home ${homes}`)) homes += 1
    expect(homes).toBeGreaterThanOrEqual(5_990)
  })
})
