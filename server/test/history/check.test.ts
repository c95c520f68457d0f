/** The checker, on generated histories. Histories of a known anomaly are in anomalies.test.ts. */
import { expect, test } from 'vitest'
import { between, randomFrom } from '../model/suspension-traffic.ts'
import { figure } from '../rig/size.ts'
import { isLinearizable } from './brute-force.ts'
import { check } from './check.ts'
import { corrupt, generateHistory } from './generate.ts'
import { type Operation, plain } from './history.ts'
import { NOT_REQUESTED, type State, step } from './specification.ts'

const COMPARED = 6_000

test(`the checker and a search through all orders agree on ${figure(COMPARED)} histories`, () => {
  const random = randomFrom(19)
  const counted = { accepted: 0, refused: 0 }
  for (let each = 0; each < COMPARED; each += 1) {
    const generated = generateHistory(random, between(random, 1, 5))
    const history = each % 3 === 0 ? generated : corrupt(random, corrupt(random, generated))
    const { accepted } = check(history)
    expect(accepted, JSON.stringify(history)).toBe(isLinearizable(history))
    counted[accepted ? 'accepted' : 'refused'] += 1
  }
  expect(Math.min(counted.accepted, counted.refused)).toBeGreaterThan(COMPARED / 4)
})

test('an accepted history is explained by an order of its operations', () => {
  const random = randomFrom(20)
  for (let each = 0; each < 1_000; each += 1) {
    const history = generateHistory(random, 12)
    const { accepted, order } = check(history)
    expect(accepted, JSON.stringify(history)).toBe(true)
    expect(new Set(order).size).toBe(order.length)
    expect(history.filter((operation) => operation.answer !== null && !order.includes(operation))).toEqual([])
    expect(order.every((one, at) => order.slice(at + 1).every((later) => later.answeredAt >= one.calledAt))).toBe(true)
    let state: State | null = NOT_REQUESTED
    for (const operation of order) state = state && step(state, operation)
    expect(state).not.toBeNull()
  }
})

test('a hundred concurrent polls need no search, also if the history is refused', () => {
  const at = (from: number, to: number) => ({ calledAt: from, answeredAt: to })
  const poll = (is: string, credentials: string | null = null): Operation => ({
    call: { do: 'poll', key: null, path: 'own' },
    answer: { is, credentials },
    ...at(10, 20),
  })
  const granted: Operation[] = [
    { call: { do: 'request' }, answer: plain('requested'), ...at(0, 1) },
    { call: { do: 'enter', user: 'A', account: 'first' }, answer: plain('claimed'), ...at(2, 3) },
    { call: { do: 'grant', user: 'A' }, answer: plain('granted'), ...at(4, 15) },
  ]
  const polls = Array.from({ length: 50 }, () => [poll('invalid'), poll('auth_pending')]).flat()
  expect(check([...granted, ...polls, poll('accepted', 'x')]).accepted).toBe(true)
  expect(check([...granted, ...polls, poll('accepted', 'x'), poll('accepted', 'x')]).accepted).toBe(false)
})
