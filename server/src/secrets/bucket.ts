/**
 * Bucket of a code or credential: the part of the data it belongs to, in an installation that is divided into cells
 * (docs/scale.md). It follows the prefix in every format, so that a proxy can route by it without a key.
 * docs/formats.md, "The bucket".
 */
import { crc32 } from 'node:zlib'
import { BUCKETS, bucketOfCell } from '../core/cells/map.ts'

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

/** Bucket of an account that has none of its own. HAProxy computes the same: `crc32,mod(4096)`. */
export function bucketOfSlug(slug: string): number {
  return crc32(slug) % BUCKETS
}

/** Bucket of what is issued before its account is known. `cell`: null in an undivided installation. */
export function ownBucket(cell: number | null): number {
  return cell === null ? BUCKET : bucketOfCell(cell)
}
