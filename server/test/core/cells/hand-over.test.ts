/** Hand-over of a device code: the rules, and a simulation in which messages are lost, late and repeated. */
import { describe, expect, it, test } from 'vitest'
import { giveBack, handOn, handOver, type Place } from '../../../src/core/cells/hand-over.ts'
import { makeDeviceCode, NOW } from '../../rig/records.ts'

const here: Place = { handedTo: null, handovers: 0 }
const code = (place: Place, given: Parameters<typeof makeDeviceCode>[0] = {}) => ({
  ...makeDeviceCode(given),
  ...place,
})

describe('the issuer', () => {
  it('hands an open, unclaimed code to the cell that asks, and again if it is asked again', () => {
    const first = handOver(code(here), 7, NOW)
    expect(first).toEqual({ answer: 'handed', next: { handedTo: 7, handovers: 1 } })
    expect(handOver(code({ handedTo: 7, handovers: 1 }), 7, NOW)).toEqual({
      answer: 'handed',
      next: { handedTo: 7, handovers: 2 },
    })
  })

  it.each([
    ['has expired since', { expiresAt: NOW }],
    ['was claimed before the account moved to that cell', { claimedBy: 'usr_a' }],
  ])('hands it again to the cell that may not have received it, also if it %s', (_, given) => {
    expect(handOver(code({ handedTo: 7, handovers: 1 }, given), 7, NOW)).toEqual({
      answer: 'handed',
      next: { handedTo: 7, handovers: 2 },
    })
  })

  it('keeps a code that is claimed, closed, decided or expired', () => {
    expect(handOver(code(here, { claimedBy: 'usr_a' }), 7, NOW)).toEqual({ answer: 'claimed' })
    expect(handOver(code(here, { entryClosed: true }), 7, NOW)).toEqual({ answer: 'not_open' })
    expect(handOver(code(here, { expiresAt: NOW }), 7, NOW)).toEqual({ answer: 'not_open' })
  })

  it('has what it wants itself, also if it is not open any more', () => {
    expect(handOver(code(here), null, NOW)).toEqual({ answer: 'here' })
    expect(handOver(code(here, { expiresAt: NOW, claimedBy: 'usr_a' }), null, NOW)).toEqual({ answer: 'here' })
  })

  it('names the cell that has the code', () => {
    const handed = code({ handedTo: 3, handovers: 4 })
    expect(handOver(handed, 7, NOW)).toEqual({ answer: 'elsewhere', holder: 3 })
    expect(handOver(handed, null, NOW)).toEqual({ answer: 'elsewhere', holder: 3 })
  })

  it('hands on what was given back, unless it was handed over meanwhile', () => {
    const asked = { handedTo: 3, handovers: 4 }
    expect(handOn(asked, asked, 7)).toEqual({ handedTo: 7, handovers: 5 })
    expect(handOn(asked, asked, null)).toEqual({ handedTo: null, handovers: 5 })
    expect(handOn({ handedTo: 3, handovers: 5 }, asked, 7)).toBeNull()
    expect(handOn({ handedTo: 9, handovers: 4 }, asked, 7)).toBeNull()
  })
})

describe('the cell that has a code', () => {
  it('gives it back if it is open and unclaimed, and keeps a marker', () => {
    const returned = { answer: 'returned', next: { handedTo: 2, handovers: 1 } }
    expect(giveBack(code({ handedTo: null, handovers: 1 }), 2, 1, NOW)).toEqual(returned)
    expect(giveBack(code({ handedTo: 2, handovers: 1 }), 2, 1, NOW)).toEqual(returned)
    expect(giveBack(null, 2, 1, NOW)).toEqual(returned)
  })

  it('keeps it if it is claimed or not open, and if it was handed here again', () => {
    const mine = { handedTo: null, handovers: 1 }
    expect(giveBack(code(mine, { claimedBy: 'usr_a' }), 2, 1, NOW)).toEqual({ answer: 'claimed' })
    expect(giveBack(code(mine, { entryClosed: true }), 2, 1, NOW)).toEqual({ answer: 'not_open' })
    expect(giveBack(code({ handedTo: null, handovers: 2 }), 2, 1, NOW)).toEqual({ answer: 'changed' })
  })

  it('has given it back for good: a repeated question gets the same answer, whatever became of the code', () => {
    const marker = { handedTo: 2, handovers: 1 }
    const returned = { answer: 'returned', next: { handedTo: 2, handovers: 1 } }
    expect(giveBack(code(marker, { expiresAt: NOW }), 2, 1, NOW)).toEqual(returned)
    expect(giveBack(code(marker, { claimedBy: 'usr_a' }), 2, 1, NOW)).toEqual(returned)
    expect(giveBack(code(marker), 2, 3, NOW)).toEqual({ answer: 'returned', next: { handedTo: 2, handovers: 3 } })
  })

  it('does not give back what moved on with the account that claimed it, whatever the number', () => {
    for (const handovers of [0, 1, 2])
      expect(giveBack(code({ handedTo: 9, handovers }), 2, 1, NOW)).toEqual({ answer: 'claimed' })
  })
})

/** Cells 1 and 2, and the issuer 0. A message is a function that runs when it is delivered: late, twice, or never. */
function simulate(seed: number): { holders: number; claims: number } {
  let state = seed
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const rows = new Map<number, ReturnType<typeof code>>([[0, code(here)]])
  const messages: (() => void)[] = []
  const send = (message: () => void) => {
    if (random(5) === 0) return
    messages.push(message)
    if (random(5) === 0) messages.push(message)
  }
  const claims = new Set<number>()
  let most = 0
  const claimIn = (cell: number) => {
    const row = rows.get(cell)
    if (!row || row.handedTo !== null || row.claimedBy !== null) return
    rows.set(cell, { ...row, claimedBy: `usr_${cell}` })
    claims.add(cell)
  }
  const receive = (cell: number, handovers: number) => {
    const known = rows.get(cell)
    if (!known) rows.set(cell, code({ handedTo: null, handovers }))
    else if (known.handovers < handovers) rows.set(cell, { ...known, handedTo: null, handovers })
    claimIn(cell)
  }
  const place = (cell: number, next: Place) => rows.set(cell, { ...(rows.get(cell) ?? code(here)), ...next })
  const ask = (cell: number, to: number | null) => {
    const row = rows.get(0)
    if (!row) return
    const step = handOver(row, to, NOW)
    if (step.answer === 'here') claimIn(0)
    if (step.answer === 'handed') {
      place(0, step.next)
      send(() => receive(cell, step.next.handovers))
    }
    if (step.answer !== 'elsewhere') return
    const asked = { handedTo: row.handedTo, handovers: row.handovers }
    send(() => {
      const given = giveBack(rows.get(step.holder) ?? null, 0, asked.handovers, NOW)
      if (given.answer !== 'returned') return
      place(step.holder, given.next)
      send(() => {
        const next = handOn(rows.get(0) ?? here, asked, to)
        if (!next) return
        place(0, next)
        if (to !== null) send(() => receive(to, next.handovers))
        else claimIn(0)
      })
    })
  }
  for (let turn = 0; turn < 60; turn += 1) {
    const [entering, late] = [random(3), random(messages.length + 1)]
    if (random(3) === 0) send(() => ask(entering, entering === 0 ? null : entering))
    else messages.splice(late, 1)[0]?.()
    most = Math.max(most, [...rows.values()].filter(({ handedTo }) => handedTo === null).length)
  }
  return { holders: most, claims: claims.size }
}

test('whatever is lost, late or repeated, no two cells have a code, and only one claims it', () => {
  let claimed = 0
  for (let seed = 1; seed <= 5_000; seed += 1) {
    const { holders, claims } = simulate(seed)
    expect(holders, `seed ${seed}`).toBeLessThanOrEqual(1)
    expect(claims, `seed ${seed}`).toBeLessThanOrEqual(1)
    claimed += claims
  }
  expect(claimed).toBeGreaterThan(2_500)
})
