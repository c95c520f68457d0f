/** When a second factor is needed: for operators at once, for administrators and in accounts that require it after a week. */
import { describe, expect, it } from 'vitest'
import {
  needsSecondFactor,
  type SecondFactorFacts,
  saysSecondFactor,
  secondFactorDeadline,
  secondFactorDuty,
} from '../../../src/core/sign-in/second-factor.ts'

const DAY = 24 * 60 * 60 * 1000
const WEEK = 7 * DAY

const facts = (given: Partial<SecondFactorFacts> = {}): SecondFactorFacts => ({
  administratorSince: null,
  joinedAt: 100 * DAY,
  requiredAt: null,
  enrolled: false,
  ...given,
})

describe('the time from which a user needs a second factor', () => {
  const required = { requiredAt: 150 * DAY }
  const administrator = { administratorSince: 120 * DAY }
  it.each([
    ['a user, where it is optional', {}, false, null],
    ['an administrator', administrator, false, 120 * DAY + WEEK],
    ['a user who joined before it was required', required, false, 150 * DAY + WEEK],
    ['a user who joined afterwards', { ...required, joinedAt: 160 * DAY }, false, 160 * DAY + WEEK],
    ['an administrator, where it is required later', { ...administrator, ...required }, false, 120 * DAY + WEEK],
    [
      'a new administrator, where it is required',
      { ...required, administratorSince: 200 * DAY },
      false,
      150 * DAY + WEEK,
    ],
    ['a user of the operators’ account', {}, true, 100 * DAY + WEEK],
    ['an operator', administrator, true, 120 * DAY],
  ] as const)('of %s', (_, given, operators, deadline) => {
    expect(secondFactorDeadline(facts(given), operators)).toBe(deadline)
    expect(needsSecondFactor(facts(given), operators, (deadline ?? 0) - 1)).toBe(false)
    expect(needsSecondFactor(facts(given), operators, deadline ?? Number.MAX_SAFE_INTEGER)).toBe(deadline !== null)
  })
})

describe('a session', () => {
  const administrator = facts({ administratorSince: 100 * DAY })
  const [before, after] = [100 * DAY + WEEK - 1, 100 * DAY + WEEK]
  const [without, made] = [{ secondFactor: false }, { secondFactor: true }]
  it.each([
    [
      'in the grace week may go on, and says until when',
      administrator,
      without,
      before,
      { outcome: 'later', until: after },
    ],
    [
      'in the grace week of an enrolled user leads to the confirmation',
      { ...administrator, enrolled: true },
      without,
      before,
      { outcome: 'confirm' },
    ],
    ['after it leads to the enrolment', administrator, without, after, { outcome: 'enrol' }],
    [
      'of an enrolled user leads to the confirmation',
      { ...administrator, enrolled: true },
      without,
      after,
      { outcome: 'confirm' },
    ],
    ['that was made with a second factor lacks nothing', administrator, made, after, { outcome: 'none' }],
    ['of a user who needs none lacks nothing', facts(), without, after, { outcome: 'none' }],
  ] as const)('%s', (_, given, session, now, duty) => {
    expect(secondFactorDuty(given, session, false, now)).toEqual(duty)
  })
})

it.each([
  [['pwd'], undefined, false],
  [[], undefined, false],
  [['pwd', 'otp'], undefined, true],
  [['mfa'], undefined, true],
  [['hwk'], undefined, true],
  [['sc'], undefined, true],
  [['sms', 'face'], undefined, false],
  [[], 'phr', true],
  [[], 'phrh', true],
  [['pwd'], 'https://refeds.org/profile/mfa', true],
  [['pwd'], ['phr'], false],
  [['pwd'], '0', false],
])('a service that says %j and the class %j says a second factor: %s', (amr, acr, says) => {
  expect(saysSecondFactor(amr, acr)).toBe(says)
})
