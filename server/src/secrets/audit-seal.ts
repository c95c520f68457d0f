/**
 * Seal of an audit log entry: a MAC over the previous seal, the position and the content of the entry. An attacker who
 * can write to the database but has none of our keys cannot forge one.
 * docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md
 */
import { hash } from 'node:crypto'
import type { SigningKey } from './keyset.ts'
import { mac } from './mac.ts'

/** Predecessor of the first seal. */
export const NO_SEAL: Buffer = Buffer.alloc(32)

/** All columns of the row by name, as text; `detail` is JSON. */
export type EntryColumns = Readonly<Record<string, string | null>>

export type SealedPlace = { readonly previous: Buffer; readonly position: number }

export function sealEntry(key: SigningKey, { previous, position }: SealedPlace, columns: EntryColumns): Buffer {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(position))
  const content = hash('sha256', encodeEntry(columns), 'buffer')
  return mac(key.for['audit-seal'], Buffer.concat([previous, place, content]))
}

/**
 * Canonical encoding: columns sorted by name, each name and value with a length prefix, so that bytes cannot move from
 * one field to the next. Null columns are left out: a column added by a later version does not invalidate older seals.
 */
export function encodeEntry(columns: EntryColumns): Buffer {
  const parts = Object.keys(columns)
    .sort()
    .flatMap((name) => {
      const value = columns[name] ?? null
      return value === null ? [] : [withLength(name), withLength(name === 'detail' ? canonicalJson(value) : value)]
    })
  return Buffer.concat(parts)
}

function withLength(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  const part = Buffer.allocUnsafe(4 + bytes)
  part.writeUInt32BE(bytes)
  part.write(text, 4)
  return part
}

type WithSource = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown

/** A number as written: keeps 12 apart from 12.0, and digits beyond the precision of a double. */
class NumberText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Our events are less than half as deep. A deeper one, inserted into the database, must not stop the sealing of others.
 */
const MAX_DEPTH = 64

/**
 * JSON without white space, with sorted member names, so that seals do not depend on how a version of PostgreSQL prints
 * jsonb. As RFC 8785, except that numbers stay as written.
 */
export function canonicalJson(text: string): string {
  if (depthOf(text) > MAX_DEPTH) return text
  const keepNumbers: WithSource = (_, value, { source }) =>
    typeof value === 'number' ? new NumberText(source ?? String(value)) : value
  return write(JSON.parse(text, keepNumbers as Parameters<typeof JSON.parse>[1]))
}

/** Counts brackets in strings as well, which does no harm. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0]
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

function write(value: unknown): string {
  if (value instanceof NumberText) return value.text
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`).join(',')}}`
}
