/** Management keys: 256 random bits, found by a keyed hash under every server key. */
import { createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { createManagementKey, digestManagementKey, digestsOfManagementKey } from '../../../src/secrets/manage/key.ts'

const KEY = 'q'.repeat(43)
const [one, two] = [`1:${KEY}`, createKey(2)]
const keysetOf = (...entries: readonly string[]) => parseKeyset(entries.join(',')) as Keyset
const [keys, rotated] = [keysetOf(one), keysetOf(two, one)]
const text = createManagementKey()

it('a key is 256 random bits behind lkm_, another one each time', () => {
  const made = Array.from({ length: 1_000 }, createManagementKey)
  for (const each of made) expect(each).toMatch(/^lkm_[A-Za-z0-9_-]{43}$/)
  expect(new Set(made).size).toBe(1_000)
})

describe('the digest', () => {
  it('is HMAC-SHA-256 under the key that signs, with the id of that key', () => {
    const subKey = hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/management-key', 32)
    const digest = createHmac('sha256', Buffer.from(subKey)).update(text).digest()
    expect(digestManagementKey(keys, text)).toEqual({ keyId: 1, digest })
    expect(digestManagementKey(rotated, text).keyId).toBe(2)
  })

  it('is computed under every server key to find a given one', () => {
    expect(digestsOfManagementKey(rotated, text)).toEqual([
      digestManagementKey(rotated, text),
      digestManagementKey(keys, text),
    ])
    expect(digestsOfManagementKey(keys, text)).toEqual([digestManagementKey(keys, text)])
  })

  it.each([
    '',
    text.slice(0, -1),
    `${text}A`,
    ` ${text}`,
    `${text}\n`,
    text.replace('lkm_', 'lks_'),
    `${text.slice(0, -1)}=`,
    'lkm_'.repeat(10_000),
  ])('is none of a text that is no management key: %#', (other) => {
    expect(digestsOfManagementKey(rotated, other)).toEqual([])
  })
})
