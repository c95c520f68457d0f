/**
 * What becomes of a password from a browser that never signed in as this user.
 * docs/decisions/0035-strangers-are-budgeted-before-hashing.md.
 */
import { describe, expect, it } from 'vitest'
import {
  ACCOUNT_FAILURES,
  decidePasskey,
  decideStranger,
  PASSKEY_FAILURES,
} from '../../../src/core/sign-in/stranger.ts'

const LIMITS = { addressesPerNetwork: 20, service: 1_000 }
const QUIET = { addresses: 0, inAllAccounts: 0, waitMs: 0, account: 0, service: 0 }
const WITH_MAIL = { known: false, canMail: true }
const WITHOUT_MAIL = { known: false, canMail: false }
const SPENT = { addresses: 20, inAllAccounts: 500, waitMs: 7, account: ACCOUNT_FAILURES.max, service: 1_000 }

describe('a stranger', () => {
  it.each([
    [
      'gets in while nothing is spent',
      { addresses: 19, inAllAccounts: 99, waitMs: 7, account: 99, service: 999 },
      WITH_MAIL,
      'allow',
    ],
    ['confirms by mail when the network’s is spent in the account', { ...QUIET, addresses: 20 }, WITH_MAIL, 'confirm'],
    ['confirms by mail when the network’s is spent in all', { ...QUIET, inAllAccounts: 100 }, WITH_MAIL, 'confirm'],
    ['still does when the network keeps guessing', { ...QUIET, inAllAccounts: 499 }, WITH_MAIL, 'confirm'],
    ['waits when the network keeps the process busy', { ...QUIET, inAllAccounts: 500 }, WITH_MAIL, 'refuse'],
    ['waits for it also when the others are spent', SPENT, WITH_MAIL, 'refuse'],
    [
      'is delayed where no mail can be sent and the network’s is spent in the account',
      { ...QUIET, addresses: 20, inAllAccounts: 99 },
      WITHOUT_MAIL,
      'delay',
    ],
    ['waits for the network where no mail can be sent', { ...QUIET, inAllAccounts: 100 }, WITHOUT_MAIL, 'refuse'],
    ['confirms by mail when the account’s is spent', { ...QUIET, account: 100 }, WITH_MAIL, 'confirm'],
    ['confirms by mail when the service’s is spent', { ...QUIET, service: 1_000 }, WITH_MAIL, 'confirm'],
    [
      'is delayed where no mail can be sent and the account’s is spent',
      { ...QUIET, account: 100 },
      WITHOUT_MAIL,
      'delay',
    ],
    [
      'waits where no mail can be sent and the service’s is spent',
      { ...QUIET, service: 1_000 },
      WITHOUT_MAIL,
      'refuse',
    ],
  ] as const)('%s', (_, history, about, outcome) => {
    expect(decideStranger(history, LIMITS, about).outcome).toBe(outcome)
  })

  it('waits until the network’s window ends', () => {
    expect(decideStranger(SPENT, LIMITS, WITH_MAIL)).toEqual({ outcome: 'refuse', waitMs: 7, spent: 'network' })
  })

  const network = { ...QUIET, addresses: 20 }
  const account = { ...network, account: 100 }
  const both = { ...account, service: 1_000 }
  it.each([
    ['confirms because of the network', network, WITH_MAIL, { outcome: 'confirm', spent: 'network' }],
    ['confirms because of the account', account, WITH_MAIL, { outcome: 'confirm', spent: 'account' }],
    [
      'confirms because of the service, also if both are spent',
      both,
      WITH_MAIL,
      { outcome: 'confirm', spent: 'service' },
    ],
    ['is delayed for five seconds', account, WITHOUT_MAIL, { outcome: 'delay', delayMs: 5_000, spent: 'account' }],
    ['waits for a quarter of an hour', both, WITHOUT_MAIL, { outcome: 'refuse', waitMs: 900_000, spent: 'service' }],
  ] as const)('%s', (_, history, about, decision) => {
    expect(decideStranger(history, LIMITS, about)).toEqual(decision)
  })
})

it('a known browser gets in, whatever is spent', () => {
  for (const canMail of [true, false]) {
    expect(decideStranger(SPENT, LIMITS, { known: true, canMail })).toEqual({ outcome: 'allow' })
  }
})

it('a passkey that exists is never refused', () => {
  expect(decidePasskey(PASSKEY_FAILURES.max - 1, false).outcome).toBe('allow')
  expect(decidePasskey(PASSKEY_FAILURES.max, false).outcome).toBe('refuse')
  expect(decidePasskey(1_000_000, true).outcome).toBe('delay')
})

it('in a network over its budget, a passkey is verified after a second and an unknown one waits for the window', () => {
  expect(decidePasskey(PASSKEY_FAILURES.max, true)).toEqual({ outcome: 'delay', delayMs: 1_000 })
  expect(decidePasskey(PASSKEY_FAILURES.max, false)).toEqual({ outcome: 'refuse', waitMs: 900_000 })
})
