/**
 * Message authentication and constant-time comparison; no other file implements either.
 *
 * `secrets/` creates and verifies everything that must not be guessed or forged: random values, keys, signed texts,
 * digests. It knows neither storage nor HTTP.
 */
import { hash, timingSafeEqual } from 'node:crypto'

const BLOCK_BYTES = 64
const HASH_BYTES = 32

/** Upper bound of our messages; the longest is an Idempotency-Key with its device code's id. */
const MAX_MESSAGE_BYTES = 512

/**
 * HMAC-SHA-256 key (RFC 2104): the two padded blocks, computed once, each followed by space for the data that is hashed
 * with it. Every call overwrites that space; this is safe because `mac` is synchronous.
 */
export type MacKey = { readonly inner: Buffer; readonly outer: Buffer }

export function macKey(key: Buffer): MacKey {
  if (key.length > BLOCK_BYTES) throw new RangeError('a MAC key has at most 64 bytes')
  const pad = (byte: number, dataBytes: number) => {
    const block = Buffer.alloc(BLOCK_BYTES + dataBytes)
    block.fill(byte, 0, BLOCK_BYTES)
    for (const [index, value] of key.entries()) block[index] = value ^ byte
    return block
  }
  return { inner: pad(0x36, MAX_MESSAGE_BYTES), outer: pad(0x5c, HASH_BYTES) }
}

/**
 * Two one-shot hashes instead of `createHmac`, which takes fifteen times as long: this runs twice per poll
 * (docs/decisions/0005-hmac-from-one-shot-hashes.md). The test compares it with `createHmac`.
 */
export function mac(key: MacKey, message: Buffer): Buffer {
  if (message.length > MAX_MESSAGE_BYTES) throw new RangeError('the message is too long to be authenticated')
  message.copy(key.inner, BLOCK_BYTES)
  const innerHash = hash('sha256', key.inner.subarray(0, BLOCK_BYTES + message.length), 'binary')
  key.outer.write(innerHash, BLOCK_BYTES, 'latin1')
  return Buffer.from(hash('sha256', key.outer, 'binary'), 'latin1')
}

/** The only comparison of secret bytes in this code base. Lengths are public. */
export function equalSecrets(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
