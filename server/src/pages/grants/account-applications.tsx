/** Grants of all users of the account, for its administrators. */

import type { TablePage, TableWish } from '../../core/table.ts'
import { Avatar } from '../ui/avatar.tsx'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { listPage } from '../ui/list-page.tsx'
import { Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { GrantFacts, type GrantLine } from './grant-line.tsx'

export type AccountApplicationsModel = {
  readonly wish: TableWish<'connected'>
  /** Each with its user. */
  readonly grants: TablePage<GrantLine>
  /** Name of the application that was just removed. */
  readonly removed: string | null
}

export function accountApplicationsPage(frame: Frame, model: AccountApplicationsModel): string {
  const { words } = frame
  const { wish, grants, removed } = model
  const name = frame.account?.name ?? ''
  return listPage(frame, {
    title: words.t('account_applications.title'),
    notice: removed !== null && (
      <Notice kind="success">{words.t('account_applications.removed', { application: removed })}</Notice>
    ),
    intro: (
      <>
        <p class="soft">{words.t('account_applications.text', { name })}</p>
        <p class="soft">
          {words.rich('account_applications.policy', { a: (chunks) => <a href="/account/policy">{chunks}</a> })}
        </p>
      </>
    ),
    search: { label: words.t('operator.connections_search'), hint: words.t('operator.connections_search_hint') },
    place: { path: '/account/applications', wish },
    columns: [
      { title: words.t('audit.application') },
      { title: words.t('grant.user') },
      { title: words.t('grant.connected_on'), sort: 'connected' },
      { title: words.t('grant.last_used') },
      { title: words.t('grant.details') },
      { title: words.t('grant.remove') },
    ],
    page: grants,
    keyOf: ({ id }) => id,
    cellsOf: (grant) => grantCells(words, grant),
    none: words.t(wish.search === '' ? 'account_applications.none' : 'operator.none_found', { name }),
  })
}

function grantCells(words: Words, grant: GrantLine) {
  const { id, application, logo, user, connectedOn, lastUsedOn, suspended, test } = grant
  return [
    <div class="named">
      <Avatar name={application} logo={logo} />
      <div>
        <bdi id={`grant-${id}`}>{application}</bdi>{' '}
        {suspended && <span class="badge warning">{words.t('grant.suspended')}</span>}
        {test && <span class="badge">{words.t('grant.test')}</span>}
      </div>
    </div>,
    <bdi>{user}</bdi>,
    <Day words={words} ms={connectedOn} />,
    lastUsedOn === null ? words.t('grant.not_used') : <Day words={words} ms={lastUsedOn} />,
    <details class="more">
      <summary>
        {words.t('grant.details')} <span class="visually-hidden">{application}</span>
      </summary>
      {suspended && <p class="soft">{words.t('grant.suspended_text')}</p>}
      {test && <p class="soft">{words.t('grant.test_text')}</p>}
      <GrantFacts words={words} grant={grant} />
    </details>,
    <a
      href={`/account/applications/remove?grant=${encodeURIComponent(id)}`}
      id={`remove-${id}`}
      aria-labelledby={`remove-${id} grant-${id}`}
    >
      {words.t('grant.remove')}
    </a>,
  ]
}
