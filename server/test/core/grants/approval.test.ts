/** What a user must do before granting. docs/interface.md, "The user decides". */
import { describe, expect, test } from 'vitest'
import { type ApprovalFacts, approvalOf } from '../../../src/core/grants/approval.ts'

const NOW = 1_000_000_000
const FRESH_MS = 300_000
const plain: ApprovalFacts = {
  variant: 'token_set',
  dangerous: false,
  crowded: false,
  origin: 'same',
  unverified: true,
  unvetted: null,
  authenticatedAt: NOW - FRESH_MS - 1,
  now: NOW,
  freshMs: FRESH_MS,
}
const fresh = { authenticatedAt: NOW - FRESH_MS }

describe('granting a request', () => {
  test.each([
    ['is possible at any time', {}, 'ok'],
    ['of an access key wants a recent sign-in', { variant: 'access_key' }, 'reauthenticate'],
    ['of a dangerous scope wants a recent sign-in', { dangerous: true }, 'reauthenticate'],
    ['in a crowd wants a recent sign-in first', { crowded: true }, 'reauthenticate'],
    ['of an access key is possible right after signing in', { variant: 'access_key', ...fresh }, 'ok'],
    ['of a dangerous scope is possible right after signing in', { dangerous: true, ...fresh }, 'ok'],
    ['in a crowd then wants the last group of the code', { crowded: true, ...fresh }, 'retype'],
    [
      'is refused when an unvetted application has a hundred grants',
      { unvetted: { outsideGrants: 100, counted: false } },
      'too_many_grants',
    ],
    ['is possible for its hundredth', { unvetted: { outsideGrants: 99, counted: false } }, 'ok'],
    ['is possible again for one of the hundred', { unvetted: { outsideGrants: 100, counted: true } }, 'ok'],
    [
      'of a dangerous scope is refused to an unvetted application',
      { dangerous: true, ...fresh, unvetted: { outsideGrants: 0, counted: true } },
      'dangerous_scope',
    ],
    ['from another country wants the last group of the code', { origin: 'other_country', unverified: false }, 'retype'],
    ['from another network wants the last group of the code', { origin: 'other_network', unverified: false }, 'retype'],
    ['from an unknown network wants it of an unverified publisher', { origin: 'unknown' }, 'retype'],
    ['from an unknown network is possible for a verified publisher', { origin: 'unknown', unverified: false }, 'ok'],
  ] as const)('%s', (_, given, approval) => {
    expect(approvalOf({ ...plain, ...given })).toBe(approval)
  })
})
