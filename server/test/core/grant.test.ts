/** What is computed from a grant. docs/interface.md, "Credentials". */
import { describe, expect, test } from 'vitest'
import { isCollectable, issueTime, SAME_BYTES_MS } from '../../src/core/grant.ts'
import { makeGrant, NOW } from '../rig/records.ts'

describe('the issue time', () => {
  test('is now, when nothing was handed out yet', () => {
    expect(issueTime(makeGrant(), NOW)).toBe(NOW)
  })

  test.each([0, 1, SAME_BYTES_MS])(
    'DC-20 of an answer sent again %d ms later is the first one: the same bytes',
    (later) => {
      expect(issueTime(makeGrant({ issuedAt: NOW }), NOW + later)).toBe(NOW)
    },
  )

  test('of an answer sent again later than that is now, so that expires_in does not lie', () => {
    const later = NOW + SAME_BYTES_MS + 1
    expect(issueTime(makeGrant({ issuedAt: NOW }), later)).toBe(later)
  })

  test('stays the first one when the clock of a new primary is a little behind', () => {
    expect(issueTime(makeGrant({ issuedAt: NOW }), NOW - 50)).toBe(NOW)
  })
})

describe('collecting', () => {
  const holder = { userDisabled: false, applicationDeleted: false }

  test('a living grant can be collected', () => {
    expect(isCollectable(makeGrant(), holder)).toBe(true)
  })

  test.each([
    ['revoked', makeGrant({ revokedAt: NOW }), holder],
    ['of a disabled user', makeGrant(), { ...holder, userDisabled: true }],
    ['of a deleted application', makeGrant(), { ...holder, applicationDeleted: true }],
  ])('DC-15 a grant that is %s can not', (_name, grant, its) => {
    expect(isCollectable(grant, its)).toBe(false)
  })
})
