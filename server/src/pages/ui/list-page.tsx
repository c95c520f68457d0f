/** Page of a console with one table: notice, heading with what leads to other pages, search, table. */
import type { ComponentChildren } from 'preact'
import type { Frame } from './frame.ts'
import { page } from './layout.tsx'
import { Table, type TableProps, TableSearch } from './table.tsx'

type ListPageModel<Name extends string, Line> = Omit<TableProps<Name, Line>, 'words' | 'label'> & {
  readonly title: string
  /** Above the heading. */
  readonly notice?: ComponentChildren
  /** Between the heading and the search. */
  readonly intro?: ComponentChildren
  readonly search: { readonly label: string; readonly hint: string }
  /** Below the table, in its card. */
  readonly note?: ComponentChildren
}

export function listPage<Name extends string, Line>(frame: Frame, model: ListPageModel<Name, Line>): string {
  const { words } = frame
  const { title, notice, intro, search, note, ...table } = model
  return page(
    frame,
    title,
    <>
      {notice}
      <header class="stack tight">
        <h1>{title}</h1>
        {intro}
        <TableSearch words={words} place={table.place} label={search.label} hint={search.hint} />
      </header>
      <div class="card stack">
        <Table words={words} label={title} {...table} />
        {note}
      </div>
    </>,
    { wide: true },
  )
}
