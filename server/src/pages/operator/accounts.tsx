/** Accounts of the service, for operators. */
import type { AccountLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { grantCount, Table, TableSearch } from '../ui/table.tsx'
import { accountHref } from './hrefs.ts'

type Column = 'name' | 'address' | 'created'

export type OperatorAccountsModel = {
  readonly wish: TableWish<Column>
  readonly accounts: TablePage<AccountLine>
}

export function operatorAccountsPage(frame: Frame, { wish, accounts }: OperatorAccountsModel): string {
  const { words } = frame
  const title = words.t('operator.nav_accounts')
  const place = { path: '/operator/accounts', wish }
  return page(
    frame,
    title,
    <>
      <header class="stack tight">
        <h1>{title}</h1>
        <TableSearch
          words={words}
          place={place}
          label={words.t('operator.accounts_search')}
          hint={words.t('operator.accounts_search_hint')}
        />
      </header>
      <div class="card stack">
        <Table
          words={words}
          label={title}
          place={place}
          columns={[
            { title: words.t('operator.account'), sort: 'name' },
            { title: words.t('operator.address'), sort: 'address' },
            { title: words.t('operator.people') },
            { title: words.t('operator.account_applications') },
            { title: words.t('operator.connections') },
            { title: words.t('operator.since'), sort: 'created' },
          ]}
          page={accounts}
          keyOf={({ slug }) => slug}
          cellsOf={({ slug, name, people, applications, grants, createdAt }) => [
            <a href={accountHref(slug)}>
              <bdi>{name}</bdi>
            </a>,
            <bdi class="technical">{slug}</bdi>,
            words.number(people),
            words.number(applications),
            grantCount(words, grants),
            <Day words={words} ms={createdAt} />,
          ]}
          none={words.t('operator.none_found')}
        />
      </div>
    </>,
    { wide: true },
  )
}
