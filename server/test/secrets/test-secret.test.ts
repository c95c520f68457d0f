/** Test secrets: 256 random bits, stored only as a keyed hash that serves for nothing else. */
import { createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { digestApplicationSecret } from '../../src/secrets/application-secret.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { createTestSecret, digestTestSecret, isTestSecret } from '../../src/secrets/test-secret.ts'

const KEY = 'q'.repeat(43)
const [first, second] = [`1:${KEY}`, createKey(2)]
const keysetOf = (...entries: readonly string[]) => parseKeyset(entries.join(',')) as Keyset
const [keys, rotated] = [keysetOf(first), keysetOf(second, first)]

const secret = createTestSecret()
const stored = digestTestSecret(keys, secret)

it('a secret is 256 random bits behind lkt_, another one each time', () => {
  const secrets = Array.from({ length: 1_000 }, createTestSecret)
  for (const each of secrets) expect(each).toMatch(/^lkt_[A-Za-z0-9_-]{43}$/)
  expect(new Set(secrets).size).toBe(1_000)
})

it('its digest is HMAC-SHA-256 under the key that signs, with the id of that key', () => {
  const subKey = hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/test-secret', 32)
  const digest = createHmac('sha256', Buffer.from(subKey)).update(secret).digest()
  expect(digestTestSecret(keys, secret)).toEqual({ keyId: 1, digest })
  expect(digestTestSecret(rotated, secret).keyId).toBe(2)
})

describe('a secret', () => {
  it('matches its own digest, also after another key signs', () => {
    expect(isTestSecret(keys, stored, secret)).toBe(true)
    expect(isTestSecret(rotated, stored, secret)).toBe(true)
    expect(isTestSecret(rotated, digestTestSecret(rotated, secret), secret)).toBe(true)
  })

  it('does not match the digest of another, of an application secret, or under another key', () => {
    expect(isTestSecret(keys, stored, createTestSecret())).toBe(false)
    expect(isTestSecret(keys, { keyId: 1, digest: digestApplicationSecret(keys, secret) }, secret)).toBe(false)
    expect(isTestSecret(rotated, { ...stored, keyId: 2 }, secret)).toBe(false)
    expect(isTestSecret(keysetOf(createKey(1)), stored, secret)).toBe(false)
  })

  it('matches nothing while test mode is off, not even a digest of zeros', () => {
    expect(isTestSecret(keys, null, secret)).toBe(false)
    expect(isTestSecret(keys, { keyId: 1, digest: Buffer.alloc(32) }, secret)).toBe(false)
  })

  it('matches nothing once the key of its digest is retired, also if the key that signs gives the same digest', () => {
    expect(isTestSecret(keysetOf(second), stored, secret)).toBe(false)
    expect(isTestSecret(keys, { ...stored, keyId: 9 }, secret)).toBe(false)
  })

  it.each([
    '',
    'lkt_',
    `lkt_${'a'.repeat(42)}`,
    `lkt_${'a'.repeat(44)}`,
    `lks_${'a'.repeat(43)}`,
    ` lkt_${'a'.repeat(43)}`,
    `lkt_${'a'.repeat(43)}\n`,
    `lkt_${'a'.repeat(42)}=`,
    'lkt_'.repeat(10_000),
  ])('must have its form, even if its digest is stored: %#', (text) => {
    const digest = digestTestSecret(keys, text.slice(0, 500))
    expect(isTestSecret(keys, digest, text)).toBe(false)
  })
})
