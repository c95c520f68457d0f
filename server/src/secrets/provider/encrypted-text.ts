/**
 * Encrypted texts: AES-256-GCM under a key derived from a server key for one purpose and one `bound`. For values that
 * must be read back: the client secret of an identity provider, and the transaction of a sign-in there (`state`, nonce,
 * PKCE verifier), which is stored in a cookie.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import type { Keyset, SigningKey } from '../keyset.ts'
import { mac } from '../mac.ts'

export type EncryptionPurpose = 'provider-secret' | 'provider-sign-in'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** key id 1 | iv 12 | tag 16 | text. `bound`: decryption needs the same value, for example the account. */
export function encryptText(keys: Keyset, purpose: EncryptionPurpose, bound: string, text: string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, keyFor(keys.signing, purpose, bound), iv)
  const encrypted = Buffer.concat([cipher.update(text), cipher.final()])
  return Buffer.concat([Buffer.of(keys.signing.id), iv, cipher.getAuthTag(), encrypted])
}

/** Null if it was encrypted for another `bound`, changed, or encrypted with a key that is no longer in LATCHKEY_KEYS. */
export function decryptText(keys: Keyset, purpose: EncryptionPurpose, bound: string, encrypted: Buffer): string | null {
  const key = keys.byId.get(encrypted[0] ?? 0)
  if (!key || encrypted.length < 1 + IV_BYTES + TAG_BYTES) return null
  const [iv, rest] = [encrypted.subarray(1, 1 + IV_BYTES), encrypted.subarray(1 + IV_BYTES)]
  const cipher = createDecipheriv(CIPHER, keyFor(key, purpose, bound), iv, { authTagLength: TAG_BYTES })
  cipher.setAuthTag(rest.subarray(0, TAG_BYTES))
  try {
    return Buffer.concat([cipher.update(rest.subarray(TAG_BYTES)), cipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

function keyFor(key: SigningKey, purpose: EncryptionPurpose, bound: string): Buffer {
  return mac(key.for[purpose], hash('sha256', bound, 'buffer'))
}
