/** Signed texts: one text per content, and no other is accepted. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { keyIdOf, type SignedText, sign, verify } from '../../src/secrets/signed-text.ts'

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

describe('the reserved digits', () => {
  const reserved: SignedText = { ...kind, reserved: true }
  const sealed = sign(reserved, keys.signing, body)

  test('follow the prefix', () => {
    expect(sealed).toMatch(/^lkr_0000[A-Za-z0-9_-]{50}$/)
    expect(verify(reserved, keys, sealed)).toEqual(body)
  })

  test.each(['0001', '1000', 'fe10', 'ffff', 'AAAA', 'zzzz', '000', '00000', ' 000', '+000', '0x00', ''])(
    'are refused if they are %j',
    (digits) => {
      expect(verify(reserved, keys, `lkr_${digits}${sealed.slice(8)}`)).toBeNull()
    },
  )

  test('can neither be added to a text without them nor be removed: the MAC covers them', () => {
    expect(verify(reserved, keys, text)).toBeNull()
    expect(verify(reserved, keys, text.replace('lkr_', 'lkr_0000'))).toBeNull()
    expect(verify(kind, keys, sealed)).toBeNull()
    expect(verify(kind, keys, sealed.replace('lkr_0000', 'lkr_'))).toBeNull()
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

test('the id of the key can be read from a text, behind prefix and reserved digits', () => {
  for (const id of [1, 7, 128, 255]) {
    const { signing } = parseKeyset(createKey(id)) as Keyset
    for (const each of [kind, { ...kind, prefix: '' }, { ...kind, reserved: true }] as const) {
      expect(keyIdOf(each, sign(each, signing, body))).toBe(id)
    }
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
