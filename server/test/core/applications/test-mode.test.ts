/** Test mode: when it is on, and what it may grant. */
import { describe, expect, test } from 'vitest'
import { runningTestMode, testableScopes } from '../../../src/core/applications/test-mode.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

describe('the test mode', () => {
  const ending = (endsAt: number) => ({
    testMode: { userId: 'usr_000000000001', secret: { keyId: 1, digest: Buffer.of(1) }, endsAt },
  })

  test('that never was switched on is off', () => {
    expect(runningTestMode({ testMode: null }, NOW)).toBeNull()
  })

  test('is on until it ends', () => {
    const application = ending(NOW + 1)
    expect(runningTestMode(application, NOW)).toBe(application.testMode)
  })

  test.each([NOW, NOW - 1])('is off from its end on (%i)', (endsAt) => {
    expect(runningTestMode(ending(endsAt), NOW)).toBeNull()
  })
})

describe('scopes that test mode may grant', () => {
  test('are those of the user, in their order, without dangerous ones', () => {
    const held = ['stock:read', 'account:close', 'orders:read']
    expect(testableScopes(held, ['account:close', 'account:move'])).toEqual(['stock:read', 'orders:read'])
  })

  test('are all of them if none is dangerous', () => {
    expect(testableScopes(['orders:read'], [])).toEqual(['orders:read'])
  })
})
