/** New names and logos of applications that users already know, which wait for an operator. */
import type { TablePage, TableWish } from '../../core/table.ts'
import { Moment } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice } from '../ui/notice.tsx'
import { Table, TableSearch } from '../ui/table.tsx'
import { Named, type PendingChange } from './change.tsx'
import { accountHref, changeHref } from './hrefs.ts'

export type OperatorChangesModel = {
  readonly wish: TableWish<'name' | 'since'>
  readonly changes: TablePage<PendingChange>
  readonly notice: null | 'accepted' | 'declined'
}

export function operatorChangesPage(frame: Frame, { wish, changes, notice }: OperatorChangesModel): string {
  const { words } = frame
  const title = words.t('operator.nav_changes')
  const place = { path: '/operator/changes', wish }
  return page(
    frame,
    title,
    <>
      {notice && (
        <Notice kind="success">
          {words.t(`operator.change_${notice}`)}
          <MailWaits frame={frame} />
        </Notice>
      )}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.changes_text')}</p>
        <TableSearch
          words={words}
          place={place}
          label={words.t('operator.applications_search')}
          hint={words.t('operator.applications_search_hint')}
        />
      </header>
      <div class="card stack">
        <Table
          words={words}
          label={title}
          place={place}
          columns={[
            { title: words.t('audit.application'), sort: 'name' },
            { title: words.t('operator.change_new') },
            { title: words.t('operator.account') },
            { title: words.t('operator.change_by') },
            { title: words.t('proposal.since'), sort: 'since' },
          ]}
          page={changes}
          keyOf={({ id }) => id}
          cellsOf={({ id, nameNow, name, logo, account, by, since }) => [
            <a href={changeHref(id)}>
              <bdi>{nameNow}</bdi>
            </a>,
            <Named name={name} logo={logo} />,
            <a href={accountHref(account)}>
              <bdi>{account}</bdi>
            </a>,
            by !== null && <bdi>{by}</bdi>,
            <Moment words={words} ms={since} />,
          ]}
          none={words.t(wish.search === '' ? 'operator.changes_none' : 'operator.none_found')}
        />
      </div>
    </>,
    { wide: true },
  )
}
