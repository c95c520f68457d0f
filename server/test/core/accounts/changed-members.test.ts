/** What an audit event says about a change of a user or an account. */
import { expect, test } from 'vitest'
import { changedMembers } from '../../../src/core/accounts/changed-members.ts'

const BEFORE = { slug: 'acme', name: 'Acme', email: 'ann@acme.example', externalId: '7', roles: ['till'], limit: null }

test('a member that becomes different has its value of before and its value of after', () => {
  expect(changedMembers(BEFORE, { slug: 'acme-tv', roles: ['till', 'admin'] })).toEqual({
    slug: { from: 'acme', to: 'acme-tv' },
    roles: { from: ['till'], to: ['till', 'admin'] },
  })
})

test('a member that stays the same is left out, a list with the same members included', () => {
  expect(changedMembers(BEFORE, { slug: 'acme', roles: ['till'], limit: null })).toEqual({})
})

test('a member that is not given is left out', () => {
  expect(changedMembers(BEFORE, {})).toEqual({})
})

test.each(['email', 'name', 'externalId'] as const)('of a changed %s there is no value', (member) => {
  expect(changedMembers(BEFORE, { [member]: 'another' })).toStrictEqual({ [member]: {} })
})

test.each(['email', 'name', 'externalId'] as const)('an unchanged %s is left out', (member) => {
  expect(changedMembers(BEFORE, { [member]: BEFORE[member] })).toEqual({})
})
