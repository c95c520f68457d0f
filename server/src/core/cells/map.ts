/**
 * Map of an installation that is divided into cells: which cell has which bucket of accounts. Every process has a copy.
 * docs/decisions/0060-cells-on-plain-postgresql.md.
 */
import type { CodePrefix } from './code-prefix.ts'

export type Cell = {
  /** 0 to 99. */
  readonly id: number
  readonly name: string
  /** URL at which its processes answer other cells. */
  readonly address: string
  /** Scopes, applications, publishers and this map are changed here. */
  readonly home: boolean
}

export type CellMap = {
  readonly version: number
  readonly cells: ReadonlyMap<number, Cell>
  /** Cell by bucket. */
  readonly buckets: ReadonlyMap<number, number>
  readonly prefixes: readonly CodePrefix[]
  /** By slug: accounts whose bucket is not computed. */
  readonly accountBuckets: ReadonlyMap<string, number>
}

/** `moving`: its rows are being copied to another cell. */
export type BucketState = 'settled' | 'moving'

/** Number of buckets that are computed from slugs. */
export const BUCKETS = 4096

export const MAX_CELL = 99

/** First of the buckets that identify a cell and never move: their codes are routed to the issuing cell. */
const CELL_BUCKETS = 0xf000

/** Bucket of what a cell issues before the account is known: device codes, dialogs. */
export function bucketOfCell(cell: number): number {
  return CELL_BUCKETS | cell
}

/** Null: no cell has this bucket. */
export function cellOfBucket({ cells, buckets }: Pick<CellMap, 'cells' | 'buckets'>, bucket: number): Cell | null {
  const id = bucket >= CELL_BUCKETS ? bucket - CELL_BUCKETS : buckets.get(bucket)
  return (id === undefined ? undefined : cells.get(id)) ?? null
}

export function homeOf({ cells }: Pick<CellMap, 'cells'>): Cell | null {
  return [...cells.values()].find(({ home }) => home) ?? null
}

/**
 * Buckets or prefixes that a new cell takes over from the home cell: its share of all of them, but at most half of what
 * the home cell has. `owned`: those that can be given away.
 */
export function shareFor<Key>(owned: readonly Key[], all: number, cells: number): readonly Key[] {
  const share = Math.min(Math.floor(all / cells), Math.floor(owned.length / 2))
  return share === 0 ? [] : owned.slice(-share)
}
