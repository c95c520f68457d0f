/**
 * Signed text: prefix, the reserved digits if the format has them, then base64url of `key id | body | MAC`. A text that was not made
 * with one of our keys is rejected without a query. The prefix makes a leaked text recognisable to people and to secret
 * scanners. docs/interface/credentials.md lists every format.
 */
import type { Keyset, Purpose, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

/** Half of SHA-256; no shorter than the ids it protects. */
const MAC_BYTES = 16

/** Four hexadecimal digits after the prefix, for a use that is not yet known. docs/interface/credentials.md, "The reserved digits". */
const RESERVED = '0000'
const RESERVED_BYTES = Buffer.from(RESERVED, 'hex')

export type SignedText = {
  readonly prefix: string
  readonly purpose: Purpose
  readonly bodyBytes: number
  /** Whether the reserved digits follow the prefix. */
  readonly reserved?: true
}

/** `bound` is authenticated but not contained: the verifier must know it. */
export function sign(kind: SignedText, key: SigningKey, body: Buffer, bound = ''): string {
  const payload = Buffer.concat([Buffer.of(key.id), body])
  return headOf(kind) + Buffer.concat([payload, tag(kind, key, payload, bound)]).toString('base64url')
}

export function verify(kind: SignedText, keys: Keyset, text: string, bound = ''): Buffer | null {
  const head = headOf(kind)
  if (!text.startsWith(head)) return null
  const encoded = text.slice(head.length)
  const bytes = Buffer.from(encoded, 'base64url')
  if (bytes.length !== 1 + kind.bodyBytes + MAC_BYTES) return null
  const key = keys.byId.get(bytes[0] ?? 0)
  if (!key) return null
  const payload = bytes.subarray(0, 1 + kind.bodyBytes)
  if (!equalSecrets(tag(kind, key, payload, bound), bytes.subarray(1 + kind.bodyBytes))) return null
  // One text per content: base64url decoding ignores padding, stray characters and loose last bits; reject those.
  return bytes.toString('base64url') === encoded ? payload.subarray(1) : null
}

/** Id of the key that a verified text was signed with. */
export function keyIdOf(kind: SignedText, text: string): number {
  const start = headOf(kind).length
  return Buffer.from(text.slice(start, start + 2), 'base64url')[0] ?? 0
}

function headOf({ prefix, reserved }: SignedText): string {
  return reserved ? prefix + RESERVED : prefix
}

/** Over `reserved digits | key id | body | bound`. */
function tag({ purpose, reserved }: SignedText, key: SigningKey, payload: Buffer, bound: string): Buffer {
  const message = Buffer.concat([...(reserved ? [RESERVED_BYTES] : []), payload, Buffer.from(bound)])
  return mac(key.for[purpose], message).subarray(0, MAC_BYTES)
}
