/** Webhooks: attempts, and which answers count as delivered. docs/interface/webhooks.md. */
import { describe, expect, test } from 'vitest'
import { isDelivered, isDeliveryId, isGone, retryDelayAfter } from '../../../src/core/webhooks/webhook.ts'

describe('a delivery that failed', () => {
  test('is tried eight times in all, within 31 hours and a quarter, then given up', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8].map(retryDelayAfter)
    expect(pauses).toEqual([5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000, null])
    expect(retryDelayAfter(9)).toBeNull()
    expect(retryDelayAfter(0)).toBeNull()
    expect(pauses.reduce<number>((sum, pause) => sum + (pause ?? 0), 0)).toBeLessThan(31.25 * 3_600_000)
  })
})

describe('what a receiver answers', () => {
  test.each([200, 201, 202, 204, 299])('%s is success', (status) => {
    expect(isDelivered({ status })).toBe(true)
  })

  test.each([100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503])('%s is failure', (status) => {
    expect(isDelivered({ status })).toBe(false)
    expect(isGone({ status })).toBe(status === 410)
  })

  test('no answer is failure', () => {
    expect([isDelivered({ error: 'timeout' }), isGone({ error: 'timeout' })]).toEqual([false, false])
  })
})

test.each([
  ['1', true],
  ['4503599627370496', false],
  ['999999999999999', true],
  ['0', false],
  ['01', false],
  ['-1', false],
  ['1.5', false],
  ['1e3', false],
  ['', false],
  ['1 or true', false],
  ['x1', false],
  ['42', true],
  ['909', true],
  ['a', false],
  ['1\n', false],
])('%s may be the id of a delivery: %s', (text, may) => {
  expect(isDeliveryId(text)).toBe(may)
})
