/**
 * Message authentication and constant-time comparison; no other file implements either.
 *
 * `secrets/` creates and verifies everything that must not be guessed or forged: random values, keys, signed texts,
 * digests. It knows neither storage nor HTTP.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

export type MacKey = KeyObject

/** Made once per key: with the bytes themselves, a MAC takes seven times as long. */
export function macKey(key: Buffer): MacKey {
  return createSecretKey(key)
}

/** HMAC-SHA-256 (RFC 2104). */
export function mac(key: MacKey, message: Buffer): Buffer {
  return createHmac('sha256', key).update(message).digest()
}

/** The only comparison of secret bytes in this code base. Lengths are public. */
export function equalSecrets(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
