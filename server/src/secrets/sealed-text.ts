/**
 * A text that verifies itself: prefix, then base64url of `key id | body | MAC`. What was not made with one of our keys is
 * refused without asking any engine. The prefix makes a leaked text recognisable to people and to secret scanners.
 */
import type { Keyset, Purpose, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

/** Half of SHA-256: no shorter than the ids it protects. */
const MAC_BYTES = 16

export type Seal = {
  readonly prefix: string
  readonly purpose: Purpose
  readonly bodyBytes: number
}

/** `bound` is authenticated but not carried: whoever presents the text must know it. */
export function seal(kind: Seal, key: SigningKey, body: Buffer, bound = ''): string {
  const carried = Buffer.concat([Buffer.of(key.id), body])
  return kind.prefix + Buffer.concat([carried, tag(kind, key, carried, bound)]).toString('base64url')
}

export function unseal(kind: Seal, keys: Keyset, text: string, bound = ''): Buffer | null {
  if (!text.startsWith(kind.prefix)) return null
  const bytes = Buffer.from(text.slice(kind.prefix.length), 'base64url')
  if (bytes.length !== 1 + kind.bodyBytes + MAC_BYTES) return null
  const key = keys.byId.get(bytes[0] ?? 0)
  if (!key) return null
  const carried = bytes.subarray(0, 1 + kind.bodyBytes)
  if (!equalSecrets(tag(kind, key, carried, bound), bytes.subarray(1 + kind.bodyBytes))) return null
  // One text per content: base64url decoding forgives padding, stray characters and loose last bits; we do not.
  return bytes.toString('base64url') === text.slice(kind.prefix.length) ? carried.subarray(1) : null
}

function tag(kind: Seal, key: SigningKey, carried: Buffer, bound: string): Buffer {
  const message = bound === '' ? carried : Buffer.concat([carried, Buffer.from(bound)])
  return mac(key.for[kind.purpose], message).subarray(0, MAC_BYTES)
}
