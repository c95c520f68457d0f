/**
 * Sorted lists, a page at a time: the sortable columns of a list are a closed table of expressions, and a page continues
 * after the key of the last row. No part of a statement comes from a request.
 */
import { MAX_COUNTED, type TablePage, type TableWish } from '../../core/table.ts'

export type SortedList<Column extends string> = {
  /** With its alias. */
  readonly table: string
  /** Unique: rows with equal values are sorted by it. */
  readonly key: string
  /** Expressions over the table. Each has an index that ends with the key, so that any page of a long list is fast. */
  readonly columns: Readonly<Record<Column, string>>
}

const LINES_PER_PAGE = 25

export type PageClauses = {
  /** Condition: the rows after the cursor. */
  readonly beyond: string
  /** `order by` and `limit`: one row more than a page has, to know whether there is another page. */
  readonly order: string
}

/**
 * `cursor`: placeholder of the key after which the page starts, or null. `within`: condition on its row; any other key
 * is no position in the list, so nothing follows it.
 */
export function pageClauses<Column extends string>(
  { table, key, columns }: SortedList<Column>,
  { sort, descending, lines = LINES_PER_PAGE }: Pick<TableWish<Column>, 'sort' | 'descending' | 'lines'>,
  cursor: `$${number}`,
  within = 'true',
): PageClauses {
  const column = columns[sort]
  const [direction, sign] = descending ? ['desc', '<'] : ['asc', '>']
  return {
    beyond: `(${cursor}::text is null or (${column}, ${key}) ${sign}
      (select ${column}, ${key} from ${table} where ${key} = ${cursor} and ${within}))`,
    order: `order by ${column} ${direction}, ${key} ${direction} limit ${lines + 1}`,
  }
}

export function cutPage<Line>(
  rows: readonly Line[],
  keyOf: (line: Line) => string,
  max = LINES_PER_PAGE,
): TablePage<Line> {
  const lines = rows.slice(0, max)
  const last = lines.at(-1)
  return { lines, after: rows.length > max && last ? keyOf(last) : null }
}

/** Pattern for `like`: texts that start with this one. The compared expression is in the collation "C", as its index is. */
export function startingWith(text: string): string {
  return `${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/** Expression: the live grants that match a condition over `grants g`, counted up to `MAX_COUNTED`. */
export function countGrants(condition: string): string {
  return `(select count(*) from (
    select from grants g where ${condition} and g.revoked_at is null limit ${MAX_COUNTED}) counted)`
}
