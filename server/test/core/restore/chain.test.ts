/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: each process has a chain of its own in the journal. */
import { describe, expect, it } from 'vitest'
import {
  type Fate,
  findGaps,
  gapsThatMatter,
  isWithin,
  type Link,
  rangesOfLost,
} from '../../../src/core/restore/chain.ts'

const link = (writer: string, number: number): Link => ({
  ...{ writer, number },
  proof: `${writer}-${number}`,
  previous: `${writer}-${number - 1}`,
})
const chain = (writer: string, ...numbers: number[]) => numbers.map((number) => link(writer, number))

describe('gaps', () => {
  it('are not in complete chains, however processes take turns', () => {
    const [a, b] = [chain('a', 1, 2, 3), chain('b', 1, 2)]
    expect(findGaps([[...a, ...b]])).toEqual([])
    expect(findGaps([[a[0], b[0], a[1], b[1], a[2]].filter((each) => each !== undefined)])).toEqual([])
    expect(findGaps([])).toEqual([])
  })

  it('are where lines were removed, and where the beginning is missing', () => {
    expect(findGaps([[...chain('a', 1, 2, 5, 6), ...chain('b', 7, 8)]])).toEqual([
      { writer: 'a', number: 5 },
      { writer: 'b', number: 7 },
    ])
  })

  it('are where lines of one process change places', () => {
    expect(findGaps([chain('a', 1, 3, 2, 4)])).toEqual([{ writer: 'a', number: 2 }])
  })

  it('are where a line does not name the one before it', () => {
    const [first, second] = chain('a', 1, 2)
    const other = { ...link('a', 1), proof: 'other' }
    expect(findGaps([[other, second].filter((each) => each !== undefined)])).toEqual([{ writer: 'a', number: 2 }])
    expect(findGaps([[other, first, second].filter((each) => each !== undefined)])).toEqual([])
  })

  it('are not between a journal that was renamed and its successor, in whatever order they are given', () => {
    const [older, newer] = [chain('a', 1, 2), chain('a', 3, 4)]
    expect(findGaps([older, newer])).toEqual([])
    expect(findGaps([newer, older])).toEqual([])
    expect(findGaps([newer])).toEqual([{ writer: 'a', number: 3 }])
  })

  it('are not where a line was written twice, after an attempt that failed', () => {
    expect(findGaps([chain('a', 1, 2, 2, 3)])).toEqual([])
    expect(findGaps([chain('a', 1, 2, 3, 2, 3, 4)])).toEqual([])
  })

  it('cannot be seen at the end of a chain', () => {
    expect(findGaps([chain('a', 1, 2)])).toEqual([])
  })
})

const fate = (number: number, lost: boolean, about: Partial<Fate> = {}): Fate => ({
  ...{ writer: 'a', number, lost, late: false },
  ...about,
})

describe('lost lines', () => {
  it('are ranges from the first to the last, of each process', () => {
    const fates = [fate(1, false), fate(2, true), fate(3, false), fate(4, true), fate(5, false)]
    expect(rangesOfLost([...fates, fate(9, true, { writer: 'b' }), fate(1, false, { writer: 'c' })])).toEqual({
      ...{ a: [[2, 4]], b: [[9, 9]] },
    })
    expect(rangesOfLost(fates.toReversed())).toEqual({ a: [[2, 4]] })
    expect(rangesOfLost([])).toEqual({})
  })

  it('have a range on each side of a gap, and a line that was written twice begins none', () => {
    expect(rangesOfLost([fate(2, true), fate(3, true), fate(5, true)])).toEqual({
      a: [
        [2, 3],
        [5, 5],
      ],
    })
    expect(rangesOfLost([fate(2, true), fate(2, true), fate(3, true)])).toEqual({ a: [[2, 3]] })
    expect(rangesOfLost([fate(1, true), fate(3, false), fate(4, true)])).toEqual({
      a: [
        [1, 1],
        [4, 4],
      ],
    })
    expect(rangesOfLost([fate(1, false), fate(2, false), fate(4, true)])).toEqual({ a: [[4, 4]] })
  })

  it('are found again in their ranges, and no others', () => {
    const ranges = {
      a: [
        [2, 3],
        [5, 5],
      ],
    } as const
    const within = [1, 2, 3, 4, 5, 6].filter((number) => isWithin(ranges, { writer: 'a', number }))
    expect(within).toEqual([2, 3, 5])
    expect(isWithin(ranges, { writer: 'b', number: 2 })).toBe(false)
  })
})

describe('a gap', () => {
  const gap = { writer: 'a', number: 5 }
  const matters = (...fates: readonly Fate[]) => gapsThatMatter([gap], fates).length === 1

  it('matters if the commit of the line after it was lost', () => {
    expect(matters(fate(4, false), fate(5, true))).toBe(true)
    expect(matters(fate(4, true), fate(5, false), fate(6, true))).toBe(false)
  })

  it('is judged by the next line of this process, in the order of its numbers', () => {
    expect(matters(fate(7, true), fate(6, false))).toBe(false)
    expect(matters(fate(5, false, { writer: 'b' }), fate(6, true))).toBe(true)
  })

  it('is not judged by a line about an event of another process', () => {
    expect(matters(fate(5, false, { late: true }), fate(6, true))).toBe(true)
    expect(matters(fate(5, true, { late: true }), fate(6, false))).toBe(false)
  })

  it('matters if there is nothing to judge by', () => {
    expect(matters(fate(4, false))).toBe(true)
    expect(matters()).toBe(true)
  })
})
