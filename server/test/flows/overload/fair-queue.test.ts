/** Who is next where many wait: applications in turn, networks in turn, and no room for whoever crowds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFairQueue, type QueueKey } from '../../../src/flows/overload/fair-queue.ts'

type One = QueueKey & { readonly name: string }

const one = (applicationId: string, network = 'home', name = `${applicationId} ${network}`): One => {
  return { applicationId, network, name }
}

const anyone = () => true

function everyone(queue: ReturnType<typeof createFairQueue<One>>): string[] {
  const names: string[] = []
  for (let next = queue.next(anyone); next; next = queue.next(anyone)) names.push(next.name)
  return names
}

describe('the next one', () => {
  it('is of another application than the one before, as long as others wait', () => {
    const queue = createFairQueue<One>(100)
    for (const name of ['a1', 'a2', 'a3', 'a4']) queue.join(one('a', 'home', name))
    queue.join(one('b', 'home', 'b1'))
    queue.join(one('c', 'home', 'c1'))
    expect(everyone(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'a4'])
  })

  it('is of another network of its application than the one before, as long as others wait', () => {
    const queue = createFairQueue<One>(100)
    for (const name of ['x1', 'x2', 'x3']) queue.join(one('a', 'x', name))
    queue.join(one('a', 'y', 'y1'))
    expect(everyone(queue)).toEqual(['x1', 'y1', 'x2', 'x3'])
  })

  it('of one network is who came first, and nobody where nobody waits', () => {
    const queue = createFairQueue<One>(100)
    for (const name of ['1', '2', '3']) queue.join(one('a', 'x', name))
    expect([...everyone(queue), queue.next(anyone), queue.waiting]).toEqual(['1', '2', '3', null, 0])
  })

  it('is of an application that may begin another one; the others keep their turn', () => {
    const queue = createFairQueue<One>(100)
    for (const name of ['a1', 'a2']) queue.join(one('a', 'home', name))
    queue.join(one('b', 'home', 'b1'))
    const notA = (applicationId: string) => applicationId !== 'a'
    expect([queue.next(notA)?.name, queue.next(notA), ...everyone(queue)]).toEqual(['b1', null, 'a1', 'a2'])
  })

  it('is not somebody who left', () => {
    const queue = createFairQueue<One>(100)
    const [gone, stays] = [one('a', 'x', 'gone'), one('a', 'x', 'stays')]
    queue.join(gone)
    queue.join(stays)
    queue.leave(gone)
    queue.leave(gone)
    expect([queue.waiting, ...everyone(queue)]).toEqual([1, 'stays'])
  })
})

describe('where there is no room', () => {
  it('the application that crowds makes room for a newcomer of another one', () => {
    const queue = createFairQueue<One>(3)
    for (const name of ['a1', 'a2', 'a3']) expect(queue.join(one('a', 'home', name))).toBeNull()
    expect(queue.join(one('b', 'home', 'b1'))?.name).toBe('a3')
    expect(everyone(queue)).toEqual(['a1', 'b1', 'a2'])
  })

  it('the network that crowds makes room for a newcomer of the same application', () => {
    const queue = createFairQueue<One>(3)
    for (const name of ['x1', 'x2', 'x3']) queue.join(one('a', 'x', name))
    expect(queue.join(one('a', 'y', 'y1'))?.name).toBe('x3')
    expect(everyone(queue)).toEqual(['x1', 'y1', 'x2'])
  })

  it('a newcomer that would crowd itself has to go, and so does one where all have the same', () => {
    const queue = createFairQueue<One>(2)
    queue.join(one('a', 'x', 'a1'))
    queue.join(one('b', 'x', 'b1'))
    expect(queue.join(one('a', 'x', 'a2'))?.name).toBe('a2')
    expect(queue.join(one('c', 'x', 'c1'))?.name).toBe('c1')
    expect(everyone(queue)).toEqual(['a1', 'b1'])
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
        const queue = createFairQueue<One>(room)
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
            const joining = one((step as QueueKey).applicationId, (step as QueueKey).network, String(at))
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

  it('a lone one of its application is called before any other application is called twice', () => {
    fc.assert(
      fc.property(fc.array(places, { maxLength: 100 }), (crowd) => {
        const queue = createFairQueue<One>(1_000)
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
