/**
 * The seal of one entry of the audit log: a MAC over the seal before it, the position and everything that the entry says.
 * Whoever can write to the database but has none of our keys cannot make one that fits.
 * docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md
 */
import { hash } from 'node:crypto'
import type { SigningKey } from './keyset.ts'
import { mac } from './mac.ts'

/** What the first seal follows. */
export const NO_SEAL: Buffer = Buffer.alloc(32)

/** Every column of the row by its name, as text; `detail` is JSON. */
export type EntryColumns = Readonly<Record<string, string | null>>

export type SealedPlace = { readonly previous: Buffer; readonly position: number }

export function sealEntry(key: SigningKey, { previous, position }: SealedPlace, columns: EntryColumns): Buffer {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(position))
  const content = hash('sha256', encodeEntry(columns), 'buffer')
  return mac(key.for['audit-seal'], Buffer.concat([previous, place, content]))
}

/**
 * One text for each content: columns by name, each name and value with its length in front, so that nothing can be moved from
 * one into the next. A column that is null is left out: one that a later version adds does not undo older seals.
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

/** Stands for a number as it was written: 12 is not 12.0, and no digit beyond a double's is lost. */
class Written {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** No event of ours is half as deep; one that somebody made deeper must not keep the others from being sealed. */
const DEEPEST = 64

/**
 * JSON without white space, the names of an object in order: whatever way a version of PostgreSQL has of writing jsonb, the seal
 * stays. As RFC 8785 has it, but for numbers, which stay as they are written.
 */
export function canonicalJson(text: string): string {
  if (depthOf(text) > DEEPEST) return text
  const keepNumbers: WithSource = (_, value, { source }) =>
    typeof value === 'number' ? new Written(source ?? String(value)) : value
  return write(JSON.parse(text, keepNumbers as Parameters<typeof JSON.parse>[1]))
}

/** Brackets within strings count as well, which does no harm. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0]
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

function write(value: unknown): string {
  if (value instanceof Written) return value.text
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`).join(',')}}`
}
