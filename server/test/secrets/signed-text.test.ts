/** Signed texts: one text per content, and no other is accepted. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/secrets/bucket.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { keyIdOf, type RoutedText, type SignedText, sign, verify } from '../../src/secrets/signed-text.ts'

const [first, second] = [createKey(1), createKey(2)]
const keys = parseKeyset(first) as Keyset

/** 1 + 20 + 16 bytes are 50 characters with four unused bits at the end, which base64 decoders ignore. */
const kind: SignedText = { prefix: 'lkr_', purpose: 'refresh-token', bodyBytes: 20 }
const body = Buffer.from('a body of 20 bytes..')
const text = sign(kind, keys.signing, body)

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

test('a signed text is verified with its binding', () => {
  const bodies = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes))
  fc.assert(
    fc.property(bodies, fc.string({ maxLength: 100 }), (sealed, bound) => {
      expect(verify(kind, keys, sign(kind, keys.signing, sealed, bound), bound)).toEqual(sealed)
    }),
  )
})

describe('keys', () => {
  test('after a key rotation, texts of the old key are still verified', () => {
    const rotated = parseKeyset(`${second},${first}`) as Keyset
    expect(verify(kind, rotated, text)).toEqual(body)
    expect(verify(kind, rotated, sign(kind, rotated.signing, body))).toEqual(body)
    expect(sign(kind, rotated.signing, body)).not.toBe(text)
  })

  test('texts of a retired key are refused', () => {
    expect(verify(kind, parseKeyset(second) as Keyset, text)).toBeNull()
  })

  test('another key with the same id verifies nothing', () => {
    expect(verify(kind, parseKeyset(createKey(1)) as Keyset, text)).toBeNull()
  })

  test('TK-12 the same bytes for another purpose are refused', () => {
    expect(verify({ ...kind, purpose: 'access-key' }, keys, text)).toBeNull()
    expect(verify({ ...kind, prefix: 'lkk_' }, keys, text)).toBeNull()
    expect(verify({ ...kind, prefix: 'lkk_' }, keys, text.replace('lkr_', 'lkk_'))).toEqual(body)
    expect(verify({ ...kind, prefix: 'lkk_', purpose: 'access-key' }, keys, text.replace('lkr_', 'lkk_'))).toBeNull()
  })
})

describe('one text per content', () => {
  test('no other last character is accepted, not even those that decode to the same bytes', () => {
    const accepted = [...ALPHABET].filter((last) => verify(kind, keys, text.slice(0, -1) + last))
    expect(accepted).toEqual([text.at(-1)])
    const same = [...ALPHABET].filter((last) =>
      Buffer.from(text.slice(4, -1) + last, 'base64url').equals(Buffer.from(text.slice(4), 'base64url')),
    )
    expect(same.length, 'the case exists').toBe(16)
  })

  test.each(['=', '==', '\n', ' ', '.', 'A', 'AA', '\u0000', '%3D', '~'])('%j after the text is refused', (extra) => {
    expect(verify(kind, keys, text + extra)).toBeNull()
  })

  test.each(['\n', ' ', '=', '\u200b'])('%j anywhere inside the text is refused', (extra) => {
    for (let at = 0; at <= text.length; at += 1) {
      expect(verify(kind, keys, text.slice(0, at) + extra + text.slice(at))).toBeNull()
    }
  })

  test('the other alphabet of base64 is refused', () => {
    const sealed = Array.from({ length: 100 }, (_, index) => sign(kind, keys.signing, Buffer.alloc(20, index)))
    const swapped = sealed.map((each) => each.slice(0, 4) + each.slice(4).replaceAll('-', '+').replaceAll('_', '/'))
    const changed = swapped.filter((each, index) => each !== sealed[index])
    expect(changed.length).toBeGreaterThan(10)
    expect(changed.filter((each) => verify(kind, keys, each))).toEqual([])
  })
})

describe('the bucket', () => {
  const inBucket = (bucket: number): SignedText => ({ ...kind, bucket })
  const buckets = fc.nat(0xffff)

  test('is after the prefix, in four digits, and readable without a key', () => {
    expect(sign(inBucket(0), keys.signing, body)).toMatch(/^lkr_0000[A-Za-z0-9_-]{50}$/)
    expect(sign(inBucket(0xbe0f), keys.signing, body)).toMatch(/^lkr_be0f[A-Za-z0-9_-]{50}$/)
    fc.assert(
      fc.property(buckets, (bucket) => {
        const sealed = sign(inBucket(bucket), keys.signing, body)
        expect(bucketOf(sealed)).toBe(bucket)
        expect(verify(inBucket(bucket), keys, sealed)).toEqual(body)
      }),
    )
  })

  test('is checked: a valid text of another bucket is refused', () => {
    fc.assert(
      fc.property(buckets, buckets, (bucket, other) => {
        fc.pre(bucket !== other)
        expect(verify(inBucket(other), keys, sign(inBucket(bucket), keys.signing, body))).toBeNull()
      }),
    )
  })

  test('cannot be changed: the MAC covers it', () => {
    const sealed = sign(inBucket(7), keys.signing, body)
    for (const digits of ['0000', '0006', '0107', '7000']) {
      const moved = `lkr_${digits}${sealed.slice(8)}`
      expect(verify(inBucket(Number.parseInt(digits, 16)), keys, moved), digits).toBeNull()
    }
  })

  test('has one spelling only', () => {
    const sealed = sign(inBucket(0xabcd), keys.signing, body)
    for (const digits of ['ABCD', 'abcD', 'abc', '0abcd', ' bcd', '+bcd', 'ab_d']) {
      expect(verify(inBucket(0xabcd), keys, `lkr_${digits}${sealed.slice(8)}`), digits).toBeNull()
    }
  })

  test('may be any: the text says which, in four digits or not at all', () => {
    const any: RoutedText = { ...kind, bucket: 'any' }
    for (const bucket of [0, 7, 0xffff])
      expect(verify(any, keys, sign(inBucket(bucket), keys.signing, body))).toEqual(body)
    const sealed = sign(inBucket(0), keys.signing, body)
    for (const digits of ['zzzz', 'AAAA', '000', '0001', '']) {
      expect(verify(any, keys, `lkr_${digits}${sealed.slice(8)}`), digits).toBeNull()
    }
    expect(verify(any, keys, text)).toBeNull()
  })

  test('can neither be added to a text without one nor be removed', () => {
    expect(verify(inBucket(0), keys, text)).toBeNull()
    expect(verify(inBucket(0), keys, text.replace('lkr_', 'lkr_0000'))).toBeNull()
    expect(verify(kind, keys, sign(inBucket(0), keys.signing, body).replace('lkr_0000', 'lkr_'))).toBeNull()
  })
})

test('the binding must match exactly', () => {
  const bound = sign(kind, keys.signing, body, 'app_one')
  expect(verify(kind, keys, bound, 'app_one')).toEqual(body)
  for (const other of ['', 'app_two', 'app_on', 'app_one ', 'APP_ONE']) {
    expect(verify(kind, keys, bound, other)).toBeNull()
  }
  expect(verify(kind, keys, text, 'app_one')).toBeNull()
})

test('a text of another length is refused before anything is computed', () => {
  let looked = 0
  class CountedMap extends Map<number, Keyset['signing']> {
    override get(id: number) {
      looked += 1
      return super.get(id)
    }
  }
  const counted = { ...keys, byId: new CountedMap(keys.byId) }
  for (const other of ['lkr_', `${text}A`, text.slice(0, -2), `lkr_${'A'.repeat(1_000)}`]) {
    expect(verify(kind, counted, other)).toBeNull()
  }
  expect(looked).toBe(0)
  expect(verify(kind, counted, text)).toEqual(body)
  expect(looked).toBe(1)
})

test('the id of the key can be read from a text, behind prefix and bucket', () => {
  for (const id of [1, 7, 128, 255]) {
    const { signing } = parseKeyset(createKey(id)) as Keyset
    for (const each of [kind, { ...kind, prefix: '' }, { ...kind, bucket: 0xbe0f }]) {
      expect(keyIdOf(each, sign(each, signing, body))).toBe(id)
    }
    expect(keyIdOf({ ...kind, bucket: 'any' }, sign({ ...kind, bucket: 3 }, signing, body))).toBe(id)
  }
  expect(keyIdOf(kind, 'lkr_')).toBe(0)
})

test('any other input is refused without throwing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String()), (garbage) => {
      expect(verify(kind, keys, garbage)).toBeNull()
      expect(verify(kind, keys, `lkr_${garbage}`)).toBeNull()
    }),
  )
  expect(verify(kind, keys, `lkr_${'A'.repeat(100_000)}`)).toBeNull()
})
