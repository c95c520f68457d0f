/** The state machine, used by many clients at once. A rule that is left out of it makes a history that is refused. */
import { expect, test } from 'vitest'
import { between, randomFrom } from '../model/suspension-traffic.ts'
import { figure } from '../rig/size.ts'
import { explain } from './check.ts'
import type { Operation } from './history.ts'
import { simulate } from './simulate.ts'

const SIMULATED = 3_000

function* simulated(): Generator<Operation[]> {
  const random = randomFrom(54)
  for (let each = 0; each < SIMULATED; each += 1) yield simulate(random, between(random, 4, 16))
}

test(`${figure(SIMULATED)} codes have histories that the contract allows`, () => {
  for (const history of simulated()) expect(explain(history)).toBeNull()
})

test('every answer occurs in these histories', () => {
  const heard = [...simulated()].flat().map(({ call, answer }) => `${call.do} ${answer?.is ?? 'unknown'}`)
  const polls = ['accepted', 'auth_rejected', 'auth_expired', 'auth_pending', 'slow_down', 'invalid', 'unknown']
  expect([...new Set(heard)].sort()).toEqual(
    [
      ...['request requested', 'expire expired', 'unclaim released', 'unclaim unknown'],
      ...['claimed', 'taken', 'closed', 'not_recognised', 'unknown'].map((each) => `enter ${each}`),
      ...['granted', 'not_open', 'unknown'].map((each) => `grant ${each}`),
      ...['rejected', 'not_open', 'unknown'].map((each) => `reject ${each}`),
      ...polls.map((each) => `poll ${each}`),
    ].sort(),
  )
})
