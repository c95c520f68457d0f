/** The fair queue: round robin over applications and networks, and no room for those with too many. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFairQueue } from '../../src/core/fair-queue.ts'

type One = { readonly applicationId: string; readonly network: string; readonly name: string }

const createQueue = (room: number) =>
  createFairQueue<One>(room, ({ applicationId, network }) => ({ group: applicationId, subgroup: network }))

const one = (applicationId: string, network = 'home', name = `${applicationId} ${network}`): One => {
  return { applicationId, network, name }
}

const anyone = () => true

function everyone(queue: ReturnType<typeof createQueue>): string[] {
  const names: string[] = []
  for (let next = queue.next(anyone); next; next = queue.next(anyone)) names.push(next.name)
  return names
}

describe('the next entry', () => {
  it('is of another application than the one before, as long as others wait', () => {
    const queue = createQueue(100)
    for (const name of ['a1', 'a2', 'a3', 'a4']) queue.join(one('a', 'home', name))
    queue.join(one('b', 'home', 'b1'))
    queue.join(one('c', 'home', 'c1'))
    expect(everyone(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'a4'])
  })

  it('is of another network of its application than the one before, as long as others wait', () => {
    const queue = createQueue(100)
    for (const name of ['x1', 'x2', 'x3']) queue.join(one('a', 'x', name))
    queue.join(one('a', 'y', 'y1'))
    expect(everyone(queue)).toEqual(['x1', 'y1', 'x2', 'x3'])
  })

  it('of one network is the oldest, and null for an empty queue', () => {
    const queue = createQueue(100)
    for (const name of ['1', '2', '3']) queue.join(one('a', 'x', name))
    expect([...everyone(queue), queue.next(anyone), queue.waiting]).toEqual(['1', '2', '3', null, 0])
  })

  it('is of an application below its limit; the others keep their turn', () => {
    const queue = createQueue(100)
    for (const name of ['a1', 'a2']) queue.join(one('a', 'home', name))
    queue.join(one('b', 'home', 'b1'))
    const notA = (applicationId: string) => applicationId !== 'a'
    expect([queue.next(notA)?.name, queue.next(notA), ...everyone(queue)]).toEqual(['b1', null, 'a1', 'a2'])
  })

  it('is not one that left', () => {
    const queue = createQueue(100)
    const [gone, stays] = [one('a', 'x', 'gone'), one('a', 'x', 'stays')]
    queue.join(gone)
    queue.join(stays)
    queue.leave(gone)
    queue.leave(gone)
    expect([queue.waiting, ...everyone(queue)]).toEqual([1, 'stays'])
  })
})

describe('the number of waiting entries', () => {
  it('is counted per application, over all its networks, and 0 for an unknown one', () => {
    const queue = createQueue(100)
    for (const entry of [one('a', 'x'), one('a', 'y'), one('b', 'x')]) queue.join(entry)
    expect([queue.waitingOf('a'), queue.waitingOf('b'), queue.waitingOf('c'), queue.waiting]).toEqual([2, 1, 0, 3])
    queue.next((applicationId) => applicationId === 'a')
    queue.next((applicationId) => applicationId === 'b')
    expect([queue.waitingOf('a'), queue.waitingOf('b'), queue.waiting]).toEqual([1, 0, 1])
  })

  it('does not change when one leaves that never joined', () => {
    const queue = createQueue(100)
    queue.join(one('a', 'x', 'a1'))
    for (const never of [one('a', 'x'), one('a', 'y'), one('b', 'x')]) queue.leave(never)
    expect([queue.waiting, queue.waitingOf('a'), ...everyone(queue)]).toEqual([1, 1, 'a1'])
  })
})

describe('a full queue', () => {
  it('drops an entry of the largest application for one of another', () => {
    const queue = createQueue(3)
    for (const name of ['a1', 'a2', 'a3']) expect(queue.join(one('a', 'home', name))).toBeNull()
    expect(queue.join(one('b', 'home', 'b1'))?.name).toBe('a3')
    expect(everyone(queue)).toEqual(['a1', 'b1', 'a2'])
  })

  it('drops an entry of the largest network for one of the same application', () => {
    const queue = createQueue(3)
    for (const name of ['x1', 'x2', 'x3']) queue.join(one('a', 'x', name))
    expect(queue.join(one('a', 'y', 'y1'))?.name).toBe('x3')
    expect(everyone(queue)).toEqual(['x1', 'y1', 'x2'])
  })

  it('drops an entry of the largest network of the application, not of the one that has most in all applications', () => {
    const queue = createQueue(5)
    for (const name of ['x1', 'x2']) queue.join(one('a', 'x', name))
    for (const name of ['b1', 'b2']) queue.join(one('b', 'y', name))
    queue.join(one('a', 'y', 'y1'))
    expect(queue.join(one('c', 'z', 'z1'))?.name).toBe('x2')
  })

  it('refuses an entry of the largest application, also when all are equal', () => {
    const queue = createQueue(2)
    queue.join(one('a', 'x', 'a1'))
    queue.join(one('b', 'x', 'b1'))
    expect(queue.join(one('a', 'x', 'a2'))?.name).toBe('a2')
    expect(queue.join(one('c', 'x', 'c1'))?.name).toBe('c1')
    expect(everyone(queue)).toEqual(['a1', 'b1'])
  })

  it('of equally large applications, drops an entry of the network that has most in all of them', () => {
    const queue = createQueue(3)
    for (const name of ['a', 'b', 'c']) queue.join(one(name, 'crowded', name))
    expect(queue.join(one('d', 'quiet', 'd'))?.name).toBe('c')
    queue.join(one('e', 'crowded', 'e'))
    expect(everyone(queue)).toEqual(['a', 'b', 'd'])
  })

  it('does not hold against a network the entries that left', () => {
    const queue = createQueue(1)
    const gone = one('a', 'x', 'gone')
    queue.join(gone)
    queue.leave(gone)
    queue.join(one('b', 'x', 'b1'))
    expect(queue.join(one('c', 'y', 'c1'))?.name, 'the last of two equal ones').toBe('c1')
  })
})

describe('for random sequences', () => {
  const places = fc.record({ applicationId: fc.constantFrom('a', 'b', 'c'), network: fc.constantFrom('x', 'y', 'z') })
  const steps = fc.array(fc.oneof({ weight: 3, arbitrary: places }, fc.constant('next'), fc.nat(20)), {
    maxLength: 300,
  })

  it('every entry is taken once, dropped once or left; the queue never exceeds its size', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), (all, room) => {
        const queue = createQueue(room)
        const waiting = new Set<One>()
        for (const [at, step] of all.entries()) {
          if (typeof step === 'number') {
            const leaving = [...waiting][step]
            if (leaving) queue.leave(leaving)
            if (leaving) waiting.delete(leaving)
          } else if (step === 'next') {
            const next = queue.next(anyone)
            expect(next === null).toBe(waiting.size === 0)
            if (next) expect(waiting.delete(next)).toBe(true)
          } else {
            const joining = one((step as One).applicationId, (step as One).network, String(at))
            waiting.add(joining)
            const crowding = queue.join(joining)
            if (crowding) expect(waiting.delete(crowding)).toBe(true)
          }
          expect(queue.waiting).toBe(waiting.size)
          expect(waiting.size).toBeLessThanOrEqual(room)
        }
      }),
    )
  })

  it('the only entry of an application is taken before another application has two', () => {
    fc.assert(
      fc.property(fc.array(places, { maxLength: 100 }), (crowd) => {
        const queue = createQueue(1_000)
        for (const [at, place] of crowd.entries()) queue.join({ ...place, name: String(at) })
        queue.join(one('quiet', 'x', 'quiet'))
        const before: string[] = []
        for (let next = queue.next(anyone); next && next.name !== 'quiet'; next = queue.next(anyone))
          before.push(next.applicationId)
        expect(new Set(before).size).toBe(before.length)
      }),
    )
  })
})
