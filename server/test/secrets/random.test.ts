/** Randomness: ids with prefixes, no repetition. */
import { describe, expect, test } from 'vitest'
import { isGrantId } from '../../src/core/grants/grant.ts'
import {
  createDeviceCodeId,
  createGrantId,
  createGrantSecret,
  createId,
  createLeaseId,
  createRequestId,
} from '../../src/secrets/random.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('ids', () => {
  test.each(['acc', 'usr', 'rol', 'app', 'sec'] as const)(
    'of kind %s start with it and have 60 random bits',
    (prefix) => {
      const ids = Array.from({ length: 2_000 }, () => createId(prefix))
      for (const id of ids) expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{12}$`))
      expect(new Set(ids).size).toBe(2_000)
      expect(new Set(ids.flatMap((id) => [...id.slice(4)])).size, 'every letter of the alphabet is used').toBe(32)
    },
  )

  test('of grants have 100 random bits, so that no two of 10^12 are alike', () => {
    const ids = Array.from({ length: 2_000 }, createGrantId)
    for (const id of ids) expect(id).toMatch(/^grt_[0-9a-hjkmnp-tv-z]{20}$/)
    for (let at = 4; at < 24; at += 1) expect(new Set(ids.map((id) => id[at])).size).toBe(32)
    expect(isGrantId(createGrantId())).toBe(true)
    // The chance of one collision among n ids of b bits is about n^2 / 2^(b + 1).
    expect(1e24 / 2 ** (20 * Math.log2(32) + 1)).toBeLessThan(1e-6)
  })

  test('the secrets of grants are 128 random bits: every byte varies', () => {
    const secrets = Array.from({ length: 2_000 }, createGrantSecret)
    for (const secret of secrets) expect(secret).toMatch(UUID)
    const bytes = secrets.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'))
    for (let at = 0; at < 16; at += 1) expect(new Set(bytes.map((each) => each[at])).size).toBeGreaterThan(200)
  })

  test('of leases are never the same', () => {
    const ids = Array.from({ length: 2_000 }, createLeaseId)
    for (const id of ids) expect(id).toMatch(UUID)
    expect(new Set(ids).size).toBe(2_000)
  })

  test('of device codes start with the time, so that they sort by it, and differ within a millisecond', () => {
    const now = Date.parse('2026-03-01T12:00:00Z')
    const ids = Array.from({ length: 2_000 }, () => createDeviceCodeId(now + 0.75))
    for (const id of ids) {
      expect(id).toMatch(UUID)
      expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
    }
    expect(new Set(ids).size).toBe(2_000)
    expect(createDeviceCodeId(now) < createDeviceCodeId(now + 1)).toBe(true)
  })
})

test('a request’s id is 16 digits, never the same twice, also when the pool is refilled', () => {
  const ids = Array.from({ length: 5_000 }, createRequestId)
  expect(ids.filter((id) => !/^[0-9a-f]{16}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(ids.length)
})
