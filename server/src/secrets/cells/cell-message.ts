/** Messages between cells: MACs of requests and of their responses. docs/decisions/0060-cells-on-plain-postgresql.md. */
import { hash } from 'node:crypto'
import type { Keyset, SigningKey } from '../keyset.ts'
import { equalSecrets, mac } from '../mac.ts'

export type CellMessage = {
  /** The cell that is asked: its message means nothing to another. */
  readonly cell: number
  readonly path: string
  readonly body: string
}

/** Longer than any request takes, with clocks that differ by seconds. Repeating a message changes nothing. */
const VALID_MS = 30_000

/** Value of the header that proves where a request comes from: key id, time, MAC. */
export function signCellRequest(keys: Keyset, message: CellMessage, now: number): string {
  const time = Math.round(now)
  return `${keys.signing.id}.${time}.${requestMac(keys.signing, message, time).toString('base64url')}`
}

export function verifyCellRequest(keys: Keyset, message: CellMessage, header: string, now: number): boolean {
  const [, id, time, given = ''] = /^(\d{1,3})\.(\d{1,15})\.([A-Za-z0-9_-]{43})$/.exec(header) ?? []
  const key = keys.byId.get(Number(id))
  if (!key || Math.abs(now - Number(time)) > VALID_MS) return false
  return equalSecrets(requestMac(key, message, Number(time)), Buffer.from(given, 'base64url'))
}

/** Bound to the request, whose header only the two cells could make. */
export function signCellResponse(keys: Keyset, requestHeader: string, body: string): string {
  return `${keys.signing.id}.${responseMac(keys.signing, requestHeader, body).toString('base64url')}`
}

export function verifyCellResponse(keys: Keyset, requestHeader: string, body: string, header: string): boolean {
  const [, id, given = ''] = /^(\d{1,3})\.([A-Za-z0-9_-]{43})$/.exec(header) ?? []
  const key = keys.byId.get(Number(id))
  return key !== undefined && equalSecrets(responseMac(key, requestHeader, body), Buffer.from(given, 'base64url'))
}

function requestMac(key: SigningKey, { cell, path, body }: CellMessage, time: number): Buffer {
  return mac(key.for['cell-message'], Buffer.from(`request\nPOST\n${cell}\n${path}\n${time}\n${hash('sha256', body)}`))
}

function responseMac(key: SigningKey, requestHeader: string, body: string): Buffer {
  return mac(key.for['cell-message'], Buffer.from(`response\n${requestHeader}\n${hash('sha256', body)}`))
}
