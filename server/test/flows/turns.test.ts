/** Who is next where many wait: applications in turn, networks in turn, and no room for whoever crowds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTurns, type Place } from '../../src/flows/turns.ts'

type One = Place & { readonly name: string }

const one = (applicationId: string, network = 'home', name = `${applicationId} ${network}`): One => {
  return { applicationId, network, name }
}

const anyone = () => true

function everyone(turns: ReturnType<typeof createTurns<One>>): string[] {
  const names: string[] = []
  for (let next = turns.next(anyone); next; next = turns.next(anyone)) names.push(next.name)
  return names
}

describe('the next one', () => {
  it('is of another application than the one before, as long as others wait', () => {
    const turns = createTurns<One>(100)
    for (const name of ['a1', 'a2', 'a3', 'a4']) turns.join(one('a', 'home', name))
    turns.join(one('b', 'home', 'b1'))
    turns.join(one('c', 'home', 'c1'))
    expect(everyone(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'a4'])
  })

  it('is of another network of its application than the one before, as long as others wait', () => {
    const turns = createTurns<One>(100)
    for (const name of ['x1', 'x2', 'x3']) turns.join(one('a', 'x', name))
    turns.join(one('a', 'y', 'y1'))
    expect(everyone(turns)).toEqual(['x1', 'y1', 'x2', 'x3'])
  })

  it('of one network is who came first, and nobody where nobody waits', () => {
    const turns = createTurns<One>(100)
    for (const name of ['1', '2', '3']) turns.join(one('a', 'x', name))
    expect([...everyone(turns), turns.next(anyone), turns.waiting]).toEqual(['1', '2', '3', null, 0])
  })

  it('is of an application that may begin another one; the others keep their turn', () => {
    const turns = createTurns<One>(100)
    for (const name of ['a1', 'a2']) turns.join(one('a', 'home', name))
    turns.join(one('b', 'home', 'b1'))
    const notA = (applicationId: string) => applicationId !== 'a'
    expect([turns.next(notA)?.name, turns.next(notA), ...everyone(turns)]).toEqual(['b1', null, 'a1', 'a2'])
  })

  it('is not somebody who left', () => {
    const turns = createTurns<One>(100)
    const [gone, stays] = [one('a', 'x', 'gone'), one('a', 'x', 'stays')]
    turns.join(gone)
    turns.join(stays)
    turns.leave(gone)
    turns.leave(gone)
    expect([turns.waiting, ...everyone(turns)]).toEqual([1, 'stays'])
  })
})

describe('where there is no room', () => {
  it('the application that crowds makes room for a newcomer of another one', () => {
    const turns = createTurns<One>(3)
    for (const name of ['a1', 'a2', 'a3']) expect(turns.join(one('a', 'home', name))).toBeNull()
    expect(turns.join(one('b', 'home', 'b1'))?.name).toBe('a3')
    expect(everyone(turns)).toEqual(['a1', 'b1', 'a2'])
  })

  it('the network that crowds makes room for a newcomer of the same application', () => {
    const turns = createTurns<One>(3)
    for (const name of ['x1', 'x2', 'x3']) turns.join(one('a', 'x', name))
    expect(turns.join(one('a', 'y', 'y1'))?.name).toBe('x3')
    expect(everyone(turns)).toEqual(['x1', 'y1', 'x2'])
  })

  it('a newcomer that would crowd itself has to go, and so does one where all have the same', () => {
    const turns = createTurns<One>(2)
    turns.join(one('a', 'x', 'a1'))
    turns.join(one('b', 'x', 'b1'))
    expect(turns.join(one('a', 'x', 'a2'))?.name).toBe('a2')
    expect(turns.join(one('c', 'x', 'c1'))?.name).toBe('c1')
    expect(everyone(turns)).toEqual(['a1', 'b1'])
  })
})

describe('whatever happens', () => {
  const places = fc.record({ applicationId: fc.constantFrom('a', 'b', 'c'), network: fc.constantFrom('x', 'y', 'z') })
  const steps = fc.array(fc.oneof({ weight: 3, arbitrary: places }, fc.constant('next'), fc.nat(20)), {
    maxLength: 300,
  })

  it('everybody is called once, has to go once or left; no more wait than there is room for', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), (all, room) => {
        const turns = createTurns<One>(room)
        const waiting = new Set<One>()
        for (const [at, step] of all.entries()) {
          if (typeof step === 'number') {
            const leaving = [...waiting][step]
            if (leaving) turns.leave(leaving)
            if (leaving) waiting.delete(leaving)
          } else if (step === 'next') {
            const next = turns.next(anyone)
            expect(next === null).toBe(waiting.size === 0)
            if (next) expect(waiting.delete(next)).toBe(true)
          } else {
            const joining = one((step as Place).applicationId, (step as Place).network, String(at))
            waiting.add(joining)
            const crowding = turns.join(joining)
            if (crowding) expect(waiting.delete(crowding)).toBe(true)
          }
          expect(turns.waiting).toBe(waiting.size)
          expect(waiting.size).toBeLessThanOrEqual(room)
        }
      }),
    )
  })

  it('a lone one of its application is called before any other application is called twice', () => {
    fc.assert(
      fc.property(fc.array(places, { maxLength: 100 }), (crowd) => {
        const turns = createTurns<One>(1_000)
        for (const [at, place] of crowd.entries()) turns.join({ ...place, name: String(at) })
        turns.join(one('quiet', 'x', 'quiet'))
        const before: string[] = []
        for (let next = turns.next(anyone); next && next.name !== 'quiet'; next = turns.next(anyone))
          before.push(next.applicationId)
        expect(new Set(before).size).toBe(before.length)
      }),
    )
  })
})
