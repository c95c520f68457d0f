/** What is computed from a grant. docs/interface.md, "Credentials". */
import { describe, expect, test } from 'vitest'
import { isCollectable, isGrantId, issueTime, isValid, type Presented, SAME_BYTES_MS } from '../../src/core/grant.ts'
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

describe('presenting', () => {
  const holder = { userDisabled: false, applicationDeleted: false }
  const keyGrant = makeGrant({ variant: 'access_key', generation: 7, keyGeneration: 2 })
  const tokenGrant = makeGrant({ generation: 3, keyGeneration: 9 })
  const token: Presented = { is: 'access_token', generation: 3, expiresAt: NOW + 1 }
  const key: Presented = { is: 'access_key', generation: 2 }

  test('an access token of the living generation is valid until its expiry', () => {
    expect(isValid(tokenGrant, holder, token, NOW)).toBe(true)
    expect(isValid(tokenGrant, holder, token, NOW + 1)).toBe(false)
  })

  test('an access key of the living key generation is valid, whatever the time', () => {
    expect(isValid(keyGrant, holder, key, NOW + 1e12)).toBe(true)
  })

  test.each<[string, typeof tokenGrant, Presented]>([
    ['an access token of the generation before', tokenGrant, { ...token, generation: 2 }],
    ['an access token of a generation to come', tokenGrant, { ...token, generation: 4 }],
    ['an access key of the key generation before', keyGrant, { ...key, generation: 1 }],
    ['an access key with the generation of refresh tokens', keyGrant, { ...key, generation: 7 }],
    ['a refresh token', tokenGrant, { is: 'refresh_token', generation: 3 }],
    ['an access token of a grant for an access key', keyGrant, { ...token, generation: 7 }],
    ['an access key of a grant for a token set', tokenGrant, { ...key, generation: 9 }],
  ])('%s is not', (_, grant, presented) => {
    expect(isValid(grant, holder, presented, NOW)).toBe(false)
  })

  test.each([
    ['revoked', { revokedAt: NOW }, holder],
    ['of a disabled user', {}, { ...holder, userDisabled: true }],
    ['of a deleted application', {}, { ...holder, applicationDeleted: true }],
  ])('nothing of a grant that is %s is', (_, given, its) => {
    expect(isValid({ ...tokenGrant, ...given }, its, token, NOW)).toBe(false)
    expect(isValid({ ...keyGrant, ...given }, its, key, NOW)).toBe(false)
  })
})

test('an id of a grant is a uuid as PostgreSQL prints it, and nothing else', () => {
  expect(isGrantId(makeGrant().id)).toBe(true)
  for (const text of ['', 'x', makeGrant().id.toUpperCase(), `${makeGrant().id}\n`, `{${makeGrant().id}}`, "'; --"]) {
    expect(isGrantId(text)).toBe(false)
  }
})
