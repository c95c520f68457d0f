/** When a management key changes an address at once, and which pending changes are judged together. */
import { describe, expect, test } from 'vitest'
import { ADDRESS_CHANGE_MS, byDomain, decideAddress } from '../../../src/core/accounts/address-change.ts'

describe('a new address', () => {
  const now = 'ann@acme.example'
  const wished = 'ann@acme-group.example'
  const facts = { origin: 'own', email: now, pendingEmail: null, hasSignedIn: true, couldBeMade: true } as const

  test.each([
    ['of a user who has signed in is pending', {}, 'pending'],
    [
      'of an invited user who holds more than the key could give is pending',
      { hasSignedIn: false, couldBeMade: false },
      'pending',
    ],
    ['of a user whom the key could have made is changed at once', { hasSignedIn: false }, 'at_once'],
    ['of a user of the host service is changed at once', { origin: 'host' }, 'at_once'],
    ['of a user of the identity provider is changed at once', { origin: 'provider' }, 'at_once'],
    ['replaces a pending one', { pendingEmail: 'ann@elsewhere.example' }, 'pending'],
    ['that is pending already stays pending', { pendingEmail: wished }, 'unchanged'],
  ] as const)('%s', (_, different, decision) => {
    expect(decideAddress({ ...facts, ...different }, wished)).toBe(decision)
  })

  test('that is the present one changes nothing, or cancels the pending one', () => {
    expect(decideAddress(facts, now)).toBe('unchanged')
    expect(decideAddress({ ...facts, pendingEmail: wished }, now)).toBe('cancelled')
  })

  test('is pending for seven days', () => {
    expect(ADDRESS_CHANGE_MS).toBe(604_800_000)
  })
})

describe('changes are judged together', () => {
  const change = (email: string, pendingEmail: string) => ({ email, pendingEmail })

  test('if several replace one domain by one other, and nothing else', () => {
    const moved = [change('ann@a.example', 'ann@b.example'), change('ben@a.example', 'ben@b.example')]
    const renamed = change('eve@a.example', 'mallory@b.example')
    const alone = change('joe@a.example', 'joe@c.example')
    expect(byDomain([moved[0], renamed, alone, moved[1]].filter((each) => each !== undefined))).toEqual({
      domains: [{ from: 'a.example', to: 'b.example', changes: moved }],
      others: [renamed, alone],
    })
  })

  test('never if one domain becomes several', () => {
    const changes = [change('ann@a.example', 'ann@b.example'), change('ben@a.example', 'ben@c.example')]
    expect(byDomain(changes)).toEqual({ domains: [], others: changes })
  })

  test('of none there are none', () => {
    expect(byDomain([])).toEqual({ domains: [], others: [] })
  })
})
