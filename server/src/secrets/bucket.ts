/**
 * The bucket of a code or credential: which part of the data it belongs to, for an installation that is divided into several
 * (docs/scale.md). It stands right after the prefix, in every format alike, so that a proxy can route by it without a key.
 * docs/formats.md, "The bucket".
 */

/** The only bucket of an installation that is not divided. */
export const BUCKET = 0

export const BUCKET_DIGITS = 4

const BUCKETED = /^(?:lk[acdkpqr]_|urn:ietf:params:oauth:request_uri:)([0-9a-f]{4})/

/** Null: not of a format that carries one. A claim, until the MAC was checked (signed-text.ts). */
export function bucketOf(text: string): number | null {
  const digits = BUCKETED.exec(text)?.[1]
  return digits === undefined ? null : Number.parseInt(digits, 16)
}

export function bucketDigits(bucket: number): string {
  return bucket.toString(16).padStart(BUCKET_DIGITS, '0')
}
