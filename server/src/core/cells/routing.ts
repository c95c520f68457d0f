/** Finds the cell that has to answer a request, by the same rules as the proxy (haproxy.ts). */
import { type Cell, type CellMap, cellOfBucket } from './map.ts'

/**
 * Parameters of the base host that hold a code or credential with a bucket, the most frequent first. docs/formats.md, "The
 * bucket".
 */
export const BUCKETED_PARAMETERS = [
  'device_code',
  'refresh_token',
  'token',
  'access_key',
  'code',
  'credential',
  'request',
  'request_uri',
] as const

export type BucketedParameter = (typeof BUCKETED_PARAMETERS)[number]

/** Null: this cell, or none is known. */
export function otherCell(map: CellMap, here: number, bucket: number | null): Cell | null {
  const cell = bucket === null ? null : cellOfBucket(map, bucket)
  return cell === null || cell.id === here ? null : cell
}
