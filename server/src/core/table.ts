/** Tables of the consoles: the requested order and page, and the lines of a page. */

export type TableWish<Column extends string> = {
  /** What a line begins with; empty: every line. */
  readonly search: string
  readonly sort: Column
  readonly descending: boolean
  /** Key of the last line of the previous page; null: the first page. */
  readonly after: string | null
  /** Lines of a page; absent: as many as the consoles show. */
  readonly lines?: number
}

export type TablePage<Line> = {
  readonly lines: readonly Line[]
  /** Key of the last line, if there is a next page. */
  readonly after: string | null
}

/** Most grants that a line of a table counts: counting more of them would take longer than the rest of the page. */
export const MAX_COUNTED = 1_000
