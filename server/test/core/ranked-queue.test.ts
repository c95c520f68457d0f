/** Who is next of those who wait for a mail: whose network failed least. */
import { expect, it } from 'vitest'
import { createRankedQueue } from '../../src/core/ranked-queue.ts'

type One = { readonly group: string; readonly name: string }

const createQueue = (room: number) => createRankedQueue<One>(room, ({ group }) => group)
const everyone = (queue: ReturnType<typeof createQueue>) => {
  const names: string[] = []
  for (let one = queue.next(); one; one = queue.next()) names.push(one.name)
  return names
}

it('the lowest rank comes first, and in it who came first', () => {
  const queue = createQueue(10)
  queue.join({ group: 'a', name: 'a' }, 3)
  queue.join({ group: 'b', name: 'b' }, 0)
  queue.join({ group: 'c', name: 'c' }, 0)
  expect(everyone(queue)).toEqual(['b', 'c', 'a'])
})

it('many of one group at once rank one behind the other', () => {
  const queue = createQueue(10)
  for (const name of ['a1', 'a2', 'a3']) queue.join({ group: 'a', name }, 0)
  queue.join({ group: 'b', name: 'b1' }, 1)
  expect(everyone(queue)).toEqual(['a1', 'a2', 'b1', 'a3'])
})

it('when it is full, the newest of the last rank leaves, not who comes from a group that did nothing', () => {
  const queue = createQueue(2)
  queue.join({ group: 'a', name: 'a1' }, 0)
  queue.join({ group: 'a', name: 'a2' }, 0)
  expect(queue.join({ group: 'b', name: 'b1' }, 0)?.name).toBe('a2')
  expect(queue.join({ group: 'c', name: 'c1' }, 5)?.name).toBe('c1')
  expect(everyone(queue)).toEqual(['a1', 'b1'])
})

it('one that was taken no longer counts against its group', () => {
  const queue = createQueue(10)
  for (const name of ['a1', 'a2']) queue.join({ group: 'a', name }, 0)
  expect(queue.next()?.name).toBe('a1')
  queue.join({ group: 'b', name: 'b1' }, 2)
  queue.join({ group: 'a', name: 'a3' }, 0)
  expect(everyone(queue), 'a3 ranks behind the one of its group that still waits').toEqual(['a2', 'a3', 'b1'])
})

it('a group whose last one was taken starts anew', () => {
  const queue = createQueue(10)
  queue.join({ group: 'a', name: 'a1' }, 0)
  queue.next()
  queue.join({ group: 'a', name: 'a2' }, 0)
  queue.join({ group: 'b', name: 'b1' }, 0)
  expect(everyone(queue)).toEqual(['a2', 'b1'])
})

it('one that ranks behind its group waits behind those who came to that rank before', () => {
  const queue = createQueue(10)
  queue.join({ group: 'b', name: 'b1' }, 1)
  for (const name of ['a1', 'a2']) queue.join({ group: 'a', name }, 0)
  expect(everyone(queue)).toEqual(['a1', 'b1', 'a2'])
})

it('one that was taken makes room', () => {
  const queue = createQueue(1)
  expect(queue.join({ group: 'a', name: 'a1' }, 0)).toBeNull()
  queue.next()
  expect(queue.join({ group: 'b', name: 'b1' }, 0)).toBeNull()
  expect(queue.join({ group: 'c', name: 'c1' }, 0)?.name, 'full again').toBe('c1')
  expect(everyone(queue)).toEqual(['b1'])
})

it('an empty queue has no next one', () => {
  expect(createQueue(1).next()).toBeNull()
})
