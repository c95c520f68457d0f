/**
 * Signed text: prefix, bucket if the format has one, then base64url of `key id | body | MAC`. A text that was not made
 * with one of our keys is rejected without a query. The prefix makes a leaked text recognisable to people and to secret
 * scanners. docs/formats.md lists every format.
 */
import { BUCKET_DIGITS, bucketDigits, bucketOf } from './bucket.ts'
import type { Keyset, Purpose, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

/** Half of SHA-256; no shorter than the ids it protects. */
const MAC_BYTES = 16

export type SignedText = {
  readonly prefix: string
  readonly purpose: Purpose
  readonly bodyBytes: number
  /** Absent: the format has no bucket. */
  readonly bucket?: number
}

/** A format that is verified with every bucket, and signed with a given one. */
export type RoutedText = Omit<SignedText, 'bucket'> & { readonly bucket: 'any' }

/** `bound` is authenticated but not contained: the verifier must know it. */
export function sign(kind: SignedText, key: SigningKey, body: Buffer, bound = ''): string {
  const payload = Buffer.concat([Buffer.of(key.id), body])
  const encoded = Buffer.concat([payload, tag(kind, kind.bucket, key, payload, bound)]).toString('base64url')
  return kind.prefix + (kind.bucket === undefined ? '' : bucketDigits(kind.bucket)) + encoded
}

export function verify(kind: SignedText | RoutedText, keys: Keyset, text: string, bound = ''): Buffer | null {
  if (!text.startsWith(kind.prefix)) return null
  const bucket = kind.bucket === undefined ? undefined : bucketOf(text)
  if (bucket === null || (typeof kind.bucket === 'number' && bucket !== kind.bucket)) return null
  const encoded = text.slice(kind.prefix.length + (kind.bucket === undefined ? 0 : BUCKET_DIGITS))
  const bytes = Buffer.from(encoded, 'base64url')
  if (bytes.length !== 1 + kind.bodyBytes + MAC_BYTES) return null
  const key = keys.byId.get(bytes[0] ?? 0)
  if (!key) return null
  const payload = bytes.subarray(0, 1 + kind.bodyBytes)
  if (!equalSecrets(tag(kind, bucket, key, payload, bound), bytes.subarray(1 + kind.bodyBytes))) return null
  // One text per content: base64url decoding ignores padding, stray characters and loose last bits; reject those.
  return bytes.toString('base64url') === encoded ? payload.subarray(1) : null
}

/** Id of the key that a verified text was signed with. */
export function keyIdOf({ prefix, bucket }: SignedText | RoutedText, text: string): number {
  const start = prefix.length + (bucket === undefined ? 0 : BUCKET_DIGITS)
  return Buffer.from(text.slice(start, start + 2), 'base64url')[0] ?? 0
}

/** Over `bucket | key id | body | bound`. */
function tag(
  { purpose }: Pick<SignedText, 'purpose'>,
  bucket: number | undefined,
  key: SigningKey,
  payload: Buffer,
  bound: string,
): Buffer {
  const bucketBytes = bucket === undefined ? [] : [Buffer.of(bucket >> 8, bucket & 255)]
  const message = Buffer.concat([...bucketBytes, payload, Buffer.from(bound)])
  return mac(key.for[purpose], message).subarray(0, MAC_BYTES)
}
