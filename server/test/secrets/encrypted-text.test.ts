/** Encrypted texts: readable in one place, for one purpose, unchanged, and with a key that is still there. */
import { createDecipheriv, createHash, createHmac, hkdfSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKey, dropKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { decryptText, encryptText } from '../../src/secrets/provider/encrypted-text.ts'

const keysetOf = (...keys: string[]) => parseKeyset(keys.join(',')) as Keyset
const [one, two] = [createKey(1), createKey(2)]

test('a text comes back as it was, also after another key signs', () => {
  const text = 'secret of the provider: äöü 🔑'
  const encrypted = encryptText(keysetOf(one), 'provider-secret', 'acc_1', text)
  expect(decryptText(keysetOf(two, one), 'provider-secret', 'acc_1', encrypted)).toBe(text)
})

test('the same text is never encrypted to the same bytes', () => {
  const keys = keysetOf(one)
  const all = Array.from({ length: 100 }, () => encryptText(keys, 'provider-secret', 'acc_1', 'a').toString('hex'))
  expect(new Set(all).size).toBe(100)
})

test('it is nothing in another place, for another purpose, with another key, or after its key was retired', () => {
  const keys = keysetOf(two, one)
  const encrypted = encryptText(keysetOf(one), 'provider-secret', 'acc_1', 'text')
  expect(decryptText(keys, 'provider-secret', 'acc_2', encrypted)).toBeNull()
  expect(decryptText(keys, 'provider-sign-in', 'acc_1', encrypted)).toBeNull()
  expect(decryptText(keysetOf(two), 'provider-secret', 'acc_1', encrypted)).toBeNull()
  expect(decryptText(keysetOf(createKey(1)), 'provider-secret', 'acc_1', encrypted)).toBeNull()
  dropKey(keys, 1)
  expect(decryptText(keys, 'provider-secret', 'acc_1', encrypted)).toBeNull()
})

test('any changed, missing or added byte makes it nothing', () => {
  const keys = keysetOf(one)
  const encrypted = encryptText(keys, 'provider-secret', 'acc_1', 'text')
  for (let index = 0; index < encrypted.length; index += 1) {
    const changed = Buffer.from(encrypted)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(decryptText(keys, 'provider-secret', 'acc_1', changed)).toBeNull()
    expect(decryptText(keys, 'provider-secret', 'acc_1', encrypted.subarray(0, index))).toBeNull()
  }
  expect(decryptText(keys, 'provider-secret', 'acc_1', Buffer.concat([encrypted, Buffer.of(0)]))).toBeNull()
})

test('an empty text comes back, too', () => {
  const keys = keysetOf(one)
  expect(decryptText(keys, 'provider-sign-in', '', encryptText(keys, 'provider-sign-in', '', ''))).toBe('')
})

test('it is the key id, a nonce of 12 bytes, a tag of 16 bytes and the text under AES-256-GCM', () => {
  const key = 'q'.repeat(43)
  const encrypted = encryptText(keysetOf(`7:${key}`), 'provider-secret', 'acc_1', 'äöü')
  expect(encrypted[0]).toBe(7)
  const subKey = hkdfSync('sha256', Buffer.from(key, 'base64url'), Buffer.alloc(0), 'latchkey/provider-secret', 32)
  const bound = createHmac('sha256', Buffer.from(subKey)).update(createHash('sha256').update('acc_1').digest()).digest()
  const decipher = createDecipheriv('aes-256-gcm', bound, encrypted.subarray(1, 13))
  decipher.setAuthTag(encrypted.subarray(13, 29))
  expect(Buffer.concat([decipher.update(encrypted.subarray(29)), decipher.final()]).toString()).toBe('äöü')
})

test('what is too short to have a nonce and a tag is nothing', () => {
  const keys = keysetOf(one)
  for (const length of [0, 1, 5, 12, 13, 28]) {
    expect(decryptText(keys, 'provider-secret', 'acc_1', Buffer.alloc(length, 1))).toBeNull()
  }
})
