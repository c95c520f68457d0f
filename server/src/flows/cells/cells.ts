/**
 * The cells of a divided installation, as a process of one of them sees them: its copy of the map, which is compared
 * with PostgreSQL ten times a second (CELL_MAP_MS in jobs/background.ts), and questions to other cells.
 */
import type { CellLink } from '../../cell-link.ts'
import { prefixesOf } from '../../core/cells/code-prefix.ts'
import { type Cell, type CellMap, cellOfBucket, homeOf } from '../../core/cells/map.ts'
import { bucketOfSlug } from '../../secrets/bucket.ts'
import { readCellMap, readMapVersion } from '../../store/cells/map.ts'
import { type Queryable, Unavailable } from '../../store/postgres/postgres.ts'

export type Cells = {
  /** Number of the cell of this process. */
  readonly own: number
  map(): CellMap
  isHome(): boolean
  /** The cell of an account, also if there is no such account. Null: its bucket is in none. */
  cellOfAccount(slug: string): Cell | null
  /** First digits of the user codes that this cell issues at this time. */
  prefixes(now: number): readonly string[]
  refresh(): Promise<void>
  /** Throws Unavailable if the cell gives no answer; whether it acted on the question is then unknown. */
  ask<Answer>(cell: number, question: Question, body: Readonly<Record<string, unknown>>): Promise<Answer>
  close(): void
}

/** All questions. Each may be repeated: the second time changes nothing. http/cells/questions.ts answers them. */
export type Question = 'hand-over' | 'give-back' | 'close' | 'look' | 'settle' | 'decided' | 'account' | 'dialog'

/** Path of a question. */
export const QUESTIONS = '/cells/'

export function createCells(own: number, db: Queryable, link: CellLink, deviceCodeLifetimeMs: number): Cells {
  let map: CellMap = { version: 0, cells: new Map(), buckets: new Map(), prefixes: [], accountBuckets: new Map() }

  return {
    own,
    map: () => map,
    isHome: () => homeOf(map)?.id === own,
    cellOfAccount: (slug) => cellOfBucket(map, map.accountBuckets.get(slug) ?? bucketOfSlug(slug)),
    prefixes: (now) => prefixesOf(map.prefixes, own, now, deviceCodeLifetimeMs),
    refresh: async () => {
      const version = await readMapVersion(db)
      if (version !== null && version !== map.version) map = await readCellMap(db)
    },
    ask: async <Answer>(id: number, question: Question, body: Readonly<Record<string, unknown>>) => {
      const cell = map.cells.get(id)
      const text = cell ? await link.post(cell, `${QUESTIONS}${question}`, JSON.stringify(body)) : null
      if (text === null) throw new Unavailable(`cell ${id} does not answer`)
      return JSON.parse(text) as Answer
    },
    close: link.close,
  }
}
