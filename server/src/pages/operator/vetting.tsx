/** Applications from the developer console: those whose developers ask for a review, and those that were approved. */
import type { TablePage, TableWish } from '../../core/table.ts'
import { Moment } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice } from '../ui/notice.tsx'
import { Table, TableSearch, Tabs } from '../ui/table.tsx'
import { accountHref, vettingHref } from './hrefs.ts'
import type { VettedApplication } from './vetted-application.tsx'

export type OperatorVettingModel = {
  readonly filter: 'requested' | 'vetted'
  readonly wish: TableWish<'name' | 'since'>
  readonly applications: TablePage<VettedApplication>
  readonly maxOutsideGrants: number
  readonly notice: null | 'vetted' | 'withdrawn' | 'unchanged'
}

const FILTERS = ['requested', 'vetted'] as const

export function operatorVettingPage(frame: Frame, model: OperatorVettingModel): string {
  const { words } = frame
  const { filter, wish, applications, maxOutsideGrants: max, notice } = model
  const title = words.t('operator.nav_vetting')
  const place = { path: '/operator/vetting', wish, kept: { filter } }
  return page(
    frame,
    title,
    <>
      {notice && (
        <Notice kind={notice === 'unchanged' ? 'warning' : 'success'}>
          {words.t(`operator.vetting_notice_${notice}`)}
          {notice !== 'unchanged' && <MailWaits frame={frame} />}
        </Notice>
      )}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.vetting_text', { max })}</p>
        <Tabs
          label={words.t('operator.vetting_filter')}
          tabs={FILTERS.map((each) => ({
            href: `${place.path}?filter=${each}`,
            text: words.t(`operator.vetting_${each}`),
          }))}
          current={FILTERS.indexOf(filter)}
        />
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
            { title: words.t('operator.vetting_account') },
            { title: words.t('operator.vetting_by') },
            { title: words.t('vetting.grants') },
            { title: words.t('vetting.since'), sort: 'since' },
          ]}
          page={applications}
          keyOf={({ id }) => id}
          cellsOf={({ id, name, account, by, outsideGrants: count, since }) => [
            <a href={vettingHref(id)}>
              <bdi>{name}</bdi>
            </a>,
            <a href={accountHref(account)}>
              <bdi>{account}</bdi>
            </a>,
            by !== null && <bdi>{by}</bdi>,
            filter === 'requested' && words.t('vetting.grants_count', { count, max }),
            <Moment words={words} ms={since} />,
          ]}
          none={words.t(wish.search === '' ? `operator.vetting_${filter}_none` : 'operator.none_found')}
        />
      </div>
    </>,
    { wide: true },
  )
}
