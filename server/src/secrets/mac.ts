/**
 * Message authentication and constant-time comparison: the one home of both.
 *
 * `secrets/` makes and recognises everything that must not be guessed or forged: entropy, keys, sealed texts, digests.
 * It knows neither storage nor HTTP.
 */
import { hash, timingSafeEqual } from 'node:crypto'

const BLOCK_BYTES = 64
const HASH_BYTES = 32

/** Nothing we authenticate is longer; the longest is an Idempotency-Key with its device code's id. */
const MAX_MESSAGE_BYTES = 512

/**
 * HMAC-SHA-256 (RFC 2104), its two pads laid out once, each in front of the room for what is hashed with it. The rooms are
 * written by every call; that is safe because a call never waits.
 */
export type MacKey = { readonly inner: Buffer; readonly outer: Buffer }

export function macKey(key: Buffer): MacKey {
  if (key.length > BLOCK_BYTES) throw new RangeError('a MAC key has at most 64 bytes')
  const pad = (byte: number, room: number) => {
    const block = Buffer.alloc(BLOCK_BYTES + room)
    block.fill(byte, 0, BLOCK_BYTES)
    for (const [index, value] of key.entries()) block[index] = value ^ byte
    return block
  }
  return { inner: pad(0x36, MAX_MESSAGE_BYTES), outer: pad(0x5c, HASH_BYTES) }
}

/**
 * Two one-shot hashes instead of a `createHmac` object, which takes fifteen times as long: this runs twice for every poll
 * (docs/decisions/0005-hmac-from-one-shot-hashes.md). The test compares it with `createHmac`.
 */
export function mac(key: MacKey, message: Buffer): Buffer {
  if (message.length > MAX_MESSAGE_BYTES) throw new RangeError('the message is too long to be authenticated')
  message.copy(key.inner, BLOCK_BYTES)
  const innerHash = hash('sha256', key.inner.subarray(0, BLOCK_BYTES + message.length), 'binary')
  key.outer.write(innerHash, BLOCK_BYTES, 'latin1')
  return Buffer.from(hash('sha256', key.outer, 'binary'), 'latin1')
}

/** The only comparison of secret bytes in the house. Lengths are public. */
export function equalSecrets(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
