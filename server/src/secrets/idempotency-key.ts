/** Digest of an Idempotency-Key: enough to recognise a retry, and not reversible. */
import type { Keyset } from './keyset.ts'
import { mac } from './mac.ts'

/**
 * Printable ASCII of at most 255 characters. Anything else counts as no key: a malformed header must not add a seventh
 * outcome to a poll. `id`: of the device code or the dialog.
 */
const KEY = /^[\x21-\x7e]{1,255}$/

export function digestIdempotencyKey(keys: Keyset, key: string, id: string): string | null {
  if (!KEY.test(key)) return null
  return mac(keys.signing.for['idempotency-key'], Buffer.from(`${id} ${key}`))
    .toString('base64url')
    .slice(0, 22)
}
