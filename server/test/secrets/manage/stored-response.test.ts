/** Stored responses: readable with their Idempotency-Key and a server key, and with nothing less. */
import { createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createKey, dropKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { decryptResponse, encryptResponse } from '../../../src/secrets/manage/stored-response.ts'

const KEY = 'q'.repeat(43)
const [one, two] = [`1:${KEY}`, createKey(2)]
const keysetOf = (...entries: readonly string[]) => parseKeyset(entries.join(',')) as Keyset
const keys = keysetOf(one)

const TEXT = '{"secret":"lks_äöü 🔑"}'
const REQUEST = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const stored = encryptResponse(keys, TEXT, REQUEST)

describe('a stored response', () => {
  it.each([TEXT, ''])('comes back as it was: %j', (text) => {
    expect(decryptResponse(keys, encryptResponse(keys, text, REQUEST), REQUEST)).toBe(text)
  })

  it('names the key that signed, and is readable after another one signs', () => {
    expect(stored.keyId).toBe(1)
    expect(decryptResponse(keysetOf(two, one), stored, REQUEST)).toBe(TEXT)
    expect(encryptResponse(keysetOf(two, one), TEXT, REQUEST).keyId).toBe(2)
  })

  it('is a nonce of 12 bytes, the text under AES-256-GCM and a tag of 16 bytes', () => {
    const subKey = hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/stored-response', 32)
    const key = createHmac('sha256', Buffer.from(subKey)).update(REQUEST).digest()
    const { bytes } = encryptResponse(keys, TEXT, REQUEST)
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
    decipher.setAuthTag(bytes.subarray(-16))
    expect(Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString()).toBe(TEXT)
  })

  it('is never twice the same bytes', () => {
    const all = Array.from({ length: 100 }, () => encryptResponse(keys, TEXT, REQUEST).bytes.toString('hex'))
    expect(new Set(all).size).toBe(100)
  })

  it('is nothing once its key is retired', () => {
    const rotated = keysetOf(two, one)
    dropKey(rotated, 1)
    expect(decryptResponse(rotated, stored, REQUEST)).toBeNull()
  })

  it('cannot be read with another Idempotency-Key or another server key', () => {
    expect(() => decryptResponse(keys, stored, `${REQUEST}0`)).toThrow()
    expect(() => decryptResponse(keysetOf(createKey(1)), stored, REQUEST)).toThrow()
    expect(() => decryptResponse(keysetOf(two, one), { ...stored, keyId: 2 }, REQUEST)).toThrow()
  })

  it('cannot be read with any changed byte', () => {
    for (let at = 0; at < stored.bytes.length; at += 1) {
      const bytes = Buffer.from(stored.bytes)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      expect(() => decryptResponse(keys, { ...stored, bytes }, REQUEST)).toThrow()
    }
  })
})
