/** Buckets: read from a text without a key, computed for an account, and those of a cell. */
import { describe, expect, it } from 'vitest'
import { BUCKET, bucketDigits, bucketOf, bucketOfSlug, ownBucket } from '../../src/secrets/bucket.ts'

describe('the bucket of a text', () => {
  it.each(['lka_', 'lkc_', 'lkd_', 'lkk_', 'lkp_', 'lkq_', 'lkr_', 'urn:ietf:params:oauth:request_uri:'])(
    'follows the prefix %s',
    (prefix) => {
      expect(bucketOf(`${prefix}fe1aAbC`)).toBe(0xfe1a)
      expect(bucketOf(`${prefix}0000`)).toBe(0)
    },
  )

  it.each([
    ['another prefix', 'lks_0000'],
    ['a prefix that is not at the beginning', 'xlka_0000'],
    ['three digits', 'lka_000'],
    ['capitals', 'lka_00AA'],
    ['no digit', 'lka_00g0'],
    ['nothing', ''],
  ])('is none for %s', (_what, text) => {
    expect(bucketOf(text)).toBeNull()
  })

  it.each([
    [0, '0000'],
    [0xa, '000a'],
    [0xfff, '0fff'],
    [0xf063, 'f063'],
  ])('is written in four hexadecimal digits: %d as %s', (bucket, digits) => {
    expect(bucketDigits(bucket)).toBe(digits)
    expect(bucketOf(`lka_${digits}`)).toBe(bucket)
  })
})

it('the bucket of a slug is its CRC-32 modulo 4096', () => {
  // CRC-32 of "123456789" is cbf43926, the check value of the algorithm.
  expect(bucketOfSlug('123456789')).toBe(0xcbf43926 % 4096)
})

it('what belongs to no account yet has the bucket of its cell, or 0 in an undivided installation', () => {
  expect(BUCKET).toBe(0)
  expect([ownBucket(null), ownBucket(0), ownBucket(99)]).toEqual([0, 0xf000, 0xf063])
})
