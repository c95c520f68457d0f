/**
 * Responses that are stored for a repetition of their request. They may contain a new secret, so they are encrypted
 * (AES-256-GCM) with a key computed from a server key and the request's Idempotency-Key, which is stored only as a
 * digest: the database alone does not reveal them.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Keyset, SigningKey } from '../keyset.ts'
import { mac } from '../mac.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export type StoredResponse = { readonly keyId: number; readonly bytes: Buffer }

export function encryptResponse(keys: Keyset, text: string, idempotencyKey: string): StoredResponse {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, encryptionKey(keys.signing, idempotencyKey), nonce)
  const bytes = Buffer.concat([nonce, cipher.update(text), cipher.final()])
  return { keyId: keys.signing.id, bytes: Buffer.concat([bytes, cipher.getAuthTag()]) }
}

/** Null if the server key is retired. */
export function decryptResponse(keys: Keyset, { keyId, bytes }: StoredResponse, idempotencyKey: string): string | null {
  const key = keys.byId.get(keyId)
  if (!key) return null
  const decipher = createDecipheriv(ALGORITHM, encryptionKey(key, idempotencyKey), bytes.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString()
}

function encryptionKey(key: SigningKey, idempotencyKey: string): Buffer {
  return mac(key.for['stored-response'], Buffer.from(idempotencyKey))
}
