/**
 * Bucket of a code or credential: the part of the data it belongs to, in an installation that is divided into several
 * (docs/scale.md). It follows the prefix in every format, so that a proxy can route by it without a key.
 * docs/formats.md, "The bucket".
 */

/** The only bucket of an undivided installation. */
export const BUCKET = 0

export const BUCKET_DIGITS = 4

const BUCKETED = /^(?:lk[acdkpqr]_|urn:ietf:params:oauth:request_uri:)([0-9a-f]{4})/

/** Null: the format has no bucket. Untrusted until the MAC is verified (signed-text.ts). */
export function bucketOf(text: string): number | null {
  const digits = BUCKETED.exec(text)?.[1]
  return digits === undefined ? null : Number.parseInt(digits, 16)
}

export function bucketDigits(bucket: number): string {
  return bucket.toString(16).padStart(BUCKET_DIGITS, '0')
}
