/**
 * Table of a console: sorted by the links in its head, filtered by a form, a page at a time. Everything is in the address,
 * so it works without a script and can be bookmarked.
 */
import type { ComponentChildren } from 'preact'
import { MAX_COUNTED, type TablePage, type TableWish } from '../../core/table.ts'
import { Field } from './field.tsx'
import { Scrolled } from './scrolled.tsx'
import type { Words } from './words.ts'

/** `sort`: the name by which the column is sorted; absent: it is not sortable. */
export type TableColumn<Name extends string> = { readonly title: string; readonly sort?: Name }

export type TablePlace<Name extends string> = {
  /** Path of the page. */
  readonly path: string
  /** Further fields of the address, such as filters; empty ones are left out. */
  readonly kept?: Readonly<Record<string, string>>
  readonly wish: TableWish<Name>
}

export type TableProps<Name extends string, Line> = {
  readonly words: Words
  readonly label: string
  readonly place: TablePlace<Name>
  readonly columns: readonly TableColumn<Name>[]
  readonly page: TablePage<Line>
  readonly keyOf: (line: Line) => string
  /** One cell per column; the first names the line. */
  readonly cellsOf: (line: Line) => readonly ComponentChildren[]
  /** Shown instead of an empty table. */
  readonly none: string
}

export function Table<Name extends string, Line>(props: TableProps<Name, Line>) {
  const { words, label, place, columns, page, keyOf, cellsOf, none } = props
  if (page.lines.length === 0) {
    return (
      <>
        <p>{none}</p>
        <Pages words={words} place={place} after={null} />
      </>
    )
  }
  return (
    <>
      <Scrolled label={label}>
        <table class="listing">
          <thead>
            <tr>
              {columns.map((column) => (
                <Head words={words} place={place} column={column} key={column.title} />
              ))}
            </tr>
          </thead>
          <tbody>
            {page.lines.map((line) => {
              const [first, ...rest] = cellsOf(line)
              return (
                <tr key={keyOf(line)}>
                  <th scope="row">{first}</th>
                  {rest.map((cell, at) => (
                    <td key={columns[at + 1]?.title}>{cell}</td>
                  ))}
                </tr>
              )
            })}
          </tbody>
        </table>
      </Scrolled>
      <Pages words={words} place={place} after={page.after} />
    </>
  )
}

type HeadProps<Name extends string> = {
  readonly words: Words
  readonly place: TablePlace<Name>
  readonly column: TableColumn<Name>
}

/** A press sorts by the column, a second one the other way round. */
function Head<Name extends string>({ words, place, column: { title, sort } }: HeadProps<Name>) {
  if (sort === undefined) return <th scope="col">{title}</th>
  const { wish } = place
  const current = wish.sort === sort
  const descending = current && !wish.descending
  const order = current ? (wish.descending ? 'descending' : 'ascending') : undefined
  return (
    <th scope="col" aria-sort={order}>
      <a href={tableHref(place, { sort, descending, after: null })} class="sort">
        {title}
        <span class="visually-hidden"> {words.t(descending ? 'table.sort_down' : 'table.sort_up')}</span>
      </a>
    </th>
  )
}

type PagesProps<Name extends string> = {
  readonly words: Words
  readonly place: TablePlace<Name>
  readonly after: string | null
}

function Pages<Name extends string>({ words, place, after }: PagesProps<Name>) {
  const { wish } = place
  if (after === null && wish.after === null) return null
  return (
    <p class="actions">
      {after !== null && (
        <a class="button quiet" href={tableHref(place, { after })} rel="next">
          {words.t('table.next')}
        </a>
      )}
      {wish.after !== null && <a href={tableHref(place, { after: null })}>{words.t('table.first')}</a>}
    </p>
  )
}

/** Address of the same table with another order or page. */
function tableHref<Name extends string>(
  { path, kept = {}, wish }: TablePlace<Name>,
  change: Partial<TableWish<Name>>,
): string {
  const { search, sort, descending, after } = { ...wish, ...change }
  const fields = { ...kept, q: search, sort: descending ? `-${sort}` : sort, after: after ?? '' }
  return `${path}?${new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''))}`
}

type TableSearchProps<Name extends string> = {
  readonly words: Words
  readonly place: TablePlace<Name>
  readonly label: string
  readonly hint: string
  /** Further filters. Their names are not among `kept`. */
  readonly children?: ComponentChildren
}

/** Keeps the order and the other filters. */
export function TableSearch<Name extends string>({ words, place, label, hint, children }: TableSearchProps<Name>) {
  const { path, kept = {}, wish } = place
  const hidden = { ...kept, sort: wish.descending ? `-${wish.sort}` : wish.sort }
  return (
    <search>
      <form method="get" action={path} class="search">
        {Object.entries(hidden).map(
          ([name, value]) => value !== '' && <input type="hidden" name={name} value={value} key={name} />,
        )}
        <Field id="q" label={label} hint={hint} value={wish.search} autocomplete="off" maxLength={100} />
        {children}
        <button type="submit" class="button">
          {words.t('operator.search')}
        </button>
      </form>
    </search>
  )
}

type TabsProps = {
  readonly label: string
  readonly tabs: readonly { readonly href: string; readonly text: string }[]
  /** Index of the one shown. */
  readonly current: number
}

/** Links to the lists of which a page shows one. */
export function Tabs({ label, tabs, current }: TabsProps) {
  return (
    <nav aria-label={label}>
      <ul class="tabs">
        {tabs.map(({ href, text }, at) => (
          <li key={href}>
            <a href={href} aria-current={at === current ? 'page' : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Number of grants of a line. */
export function grantCount(words: Words, grants: number): string {
  return grants >= MAX_COUNTED ? words.t('table.many', { count: MAX_COUNTED }) : words.number(grants)
}
