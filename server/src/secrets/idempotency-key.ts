/** What we keep of an Idempotency-Key: enough to recognise its repetition, nothing that could be read back. */
import type { Keyset } from './keyset.ts'
import { mac } from './mac.ts'

/**
 * Printable ASCII of at most 255 characters; anything else is treated as no key at all, because a header that we do not
 * understand must not turn a poll into a seventh outcome.
 */
const KEY = /^[\x21-\x7e]{1,255}$/

export function digestIdempotencyKey(keys: Keyset, key: string, deviceCodeId: string): string | null {
  if (!KEY.test(key)) return null
  return mac(keys.signing.for['idempotency-key'], Buffer.from(`${deviceCodeId} ${key}`))
    .toString('base64url')
    .slice(0, 22)
}
