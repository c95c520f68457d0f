/** Applications of the service, for operators: all of them, not only those under review. */
import type { ApplicationLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { Day } from '../ui/elements.tsx'
import { Select } from '../ui/field-kinds.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { grantCount, Table, type TablePlace, TableSearch } from '../ui/table.tsx'
import type { Words } from '../ui/words.ts'
import { accountHref, operatorHref } from './hrefs.ts'

type Column = 'name' | 'created'

export type OperatorApplicationsModel = {
  readonly wish: TableWish<Column>
  /** Only suspended ones. */
  readonly suspended: boolean
  readonly applications: TablePage<ApplicationLine>
}

export function operatorApplicationsPage(frame: Frame, model: OperatorApplicationsModel): string {
  const { words } = frame
  const { wish, suspended, applications } = model
  const title = words.t('operator.nav_applications')
  const path = '/operator/applications'
  return page(
    frame,
    title,
    <>
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.applications_text')}</p>
        <TableSearch
          words={words}
          place={{ path, wish }}
          label={words.t('operator.applications_search')}
          hint={words.t('operator.applications_search_hint')}
        >
          <Select
            id="status"
            label={words.t('operator.status')}
            options={[
              { value: '', text: words.t('operator.status_any') },
              { value: 'suspended', text: words.t('operator.suspended') },
            ]}
            value={suspended ? 'suspended' : ''}
          />
        </TableSearch>
      </header>
      <div class="card stack">
        <ApplicationTable
          words={words}
          place={{ path, wish, kept: { status: suspended ? 'suspended' : '' } }}
          applications={applications}
          none={words.t('operator.none_found')}
        />
      </div>
    </>,
    { wide: true },
  )
}

type TableProps = {
  readonly words: Words
  readonly place: TablePlace<Column>
  readonly applications: TablePage<ApplicationLine>
  readonly none: string
}

export function ApplicationTable({ words, place, applications, none }: TableProps) {
  return (
    <Table
      words={words}
      label={words.t('operator.nav_applications')}
      place={place}
      columns={[
        { title: words.t('audit.application'), sort: 'name' },
        { title: words.t('developer.id') },
        { title: words.t('operator.account') },
        { title: words.t('operator.connections') },
        { title: words.t('operator.since'), sort: 'created' },
        { title: words.t('operator.status') },
      ]}
      page={applications}
      keyOf={({ id }) => id}
      cellsOf={({ id, name, account, createdAt, suspended, grants }) => [
        <a href={operatorHref(id)}>
          <bdi>{name}</bdi>
        </a>,
        <bdi class="technical soft">{id}</bdi>,
        <a href={accountHref(account)}>
          <bdi>{account}</bdi>
        </a>,
        <a href={`/operator/grants?application=${id}`}>{grantCount(words, grants)}</a>,
        <Day words={words} ms={createdAt} />,
        suspended && <span class="badge danger">{words.t('operator.suspended')}</span>,
      ]}
      none={none}
    />
  )
}
