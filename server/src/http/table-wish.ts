/** Order, search and page of a table, from the fields of its address: `q`, `sort` (`-` before it: descending), `after`. */
import type { TableWish } from '../core/table.ts'
import type { FormFields } from './parameters.ts'

const MAX_SEARCH = 100

/** Falls back to the order `usual` if `sort` does not name one of the columns. */
export function readTableWish<Column extends string>(
  fields: FormFields,
  columns: readonly Column[],
  usual: Pick<TableWish<Column>, 'sort' | 'descending'>,
): TableWish<Column> {
  const given = fields.get('sort') ?? ''
  const descending = given.startsWith('-')
  const sort = columns.find((column) => column === (descending ? given.slice(1) : given))
  return {
    search: (fields.get('q') ?? '').trim().slice(0, MAX_SEARCH),
    after: fields.get('after') || null,
    ...(sort === undefined ? usual : { sort, descending }),
  }
}
