/** Held polls of one process: who is woken, by what, and how many there may be. */
import { expect, test, vi } from 'vitest'
import { createHeldPolls, type HeldPoll, type HeldPolls } from '../../../src/flows/device/held-polls.ts'

const LONG_MS = 20_000

function open(polls: HeldPolls, code: string, application = 'app_1'): HeldPoll {
  const held = polls.open(code, application)
  if (!held) throw new Error('there was no room')
  return held
}

test('a decision wakes the polls of its code, and no others', async () => {
  const polls = createHeldPolls()
  const [one, other] = [open(polls, 'one'), open(polls, 'other')]
  const waiting = [one.until(LONG_MS), other.until(LONG_MS)]
  polls.decided('one')
  other.release()
  expect(await Promise.all(waiting)).toEqual(['decided', 'released'])
})

test('after commits were lost, the polls of all codes read their rows', async () => {
  const polls = createHeldPolls()
  const [one, other] = [open(polls, 'one'), open(polls, 'other')]
  const waiting = [one.until(LONG_MS), other.until(LONG_MS)]
  polls.readAll()
  expect(await Promise.all(waiting)).toEqual(['decided', 'decided'])
})

test('a decision between the registration and the wait is not missed', async () => {
  const polls = createHeldPolls()
  const held = open(polls, 'one')
  polls.decided('one')
  expect(await held.until(LONG_MS)).toBe('decided')
})

test('a poll that is released while it reads its row is released, although its decision was announced again', async () => {
  const polls = createHeldPolls()
  const held = open(polls, 'one')
  polls.decided('one')
  held.release()
  polls.decided('one')
  expect(await held.until(LONG_MS)).toBe('released')
})

test('a later poll of the same code releases the earlier one only once it is held', async () => {
  const polls = createHeldPolls()
  const [first, early, later] = [open(polls, 'one'), open(polls, 'one'), open(polls, 'one')]
  let ended: string | null = null
  const waiting = first.until(LONG_MS).then((woken) => {
    ended = woken
  })
  early.close()
  await new Promise(setImmediate)
  expect(ended).toBeNull()
  const last = later.until(LONG_MS)
  await waiting
  expect(ended).toBe('released')
  polls.decided('one')
  expect(await last).toBe('decided')
})

test('a wait of whole ticks ends after its time, at most one tick later, whichever other polls end before', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const polls = createHeldPolls()
    const held = open(polls, 'one')
    open(polls, 'other').close()
    let ended: string | null = null
    const waiting = held.until(10_000).then((woken) => {
      ended = woken
    })
    vi.advanceTimersByTime(10_000)
    await new Promise(setImmediate)
    expect(ended).toBeNull()
    vi.advanceTimersByTime(250)
    await waiting
    expect(ended).toBe('over')
    held.close()
    expect(vi.getTimerCount(), 'nothing is held').toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('there is room for so many of an application, and so many in all; who ends makes room', () => {
  const polls = createHeldPolls({ perProcess: 3, perApplication: 2 })
  const first = open(polls, 'a')
  open(polls, 'b')
  expect(polls.open('c', 'app_1')).toBeNull()
  open(polls, 'c', 'app_2')
  expect(polls.open('d', 'app_2')).toBeNull()
  first.close()
  expect(polls.count).toBe(2)
  expect(polls.open('d', 'app_2')).not.toBeNull()
})

test('polls that arrive together start together, and later ones after them', async () => {
  const polls = createHeldPolls()
  const first = open(polls, 'a').started()
  expect(open(polls, 'b').started()).toBe(first)
  await first
  expect(open(polls, 'c').started()).not.toBe(first)
})

test('a process that stops releases all, and holds no more', async () => {
  const polls = createHeldPolls()
  const waiting = ['a', 'b'].map((code) => open(polls, code).until(LONG_MS))
  polls.stop()
  expect(await Promise.all(waiting)).toEqual(['released', 'released'])
  expect(polls.open('c', 'app_1')).toBeNull()
})
