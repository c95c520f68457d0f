/** Users of the account, listed for its administrators. */

import type { TablePage, TableWish } from '../../core/table.ts'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { listPage } from '../ui/list-page.tsx'
import { MailWaits, Notice } from '../ui/notice.tsx'
import { type PersonStatus, Status } from './person-status.tsx'

type ListedPerson = {
  readonly id: string
  readonly email: string
  /** Role names. */
  readonly roles: readonly string[]
  readonly status: PersonStatus
  readonly createdAt: number
  readonly you: boolean
}

export type PeopleModel = {
  readonly wish: TableWish<'email' | 'created'>
  readonly people: TablePage<ListedPerson>
  /** Changes of e-mail addresses that wait. */
  readonly addressChanges: number
  readonly notice: null | 'invited' | 'saved' | 'disabled' | 'enabled' | 'link_sent' | 'proposed'
  /** E-mail address of the user that the notice is about. */
  readonly who: string | null
}

export function peoplePage(frame: Frame, { wish, people, addressChanges, notice, who }: PeopleModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  return listPage(frame, {
    title: words.t('people.title'),
    notice: notice && (
      <Notice kind="success">
        {words.t(`people.notice_${notice}`, { who: who ?? words.t('people.somebody') })}
        {(notice === 'invited' || notice === 'link_sent') && <MailWaits frame={frame} />}
      </Notice>
    ),
    intro: (
      <>
        {frame.signInAt === null ? (
          <>
            <p class="soft">{words.t('people.text', { name })}</p>
            <p class="actions">
              <a class="button" href="/account/people/invite">
                {words.t('people.invite')}
              </a>
            </p>
          </>
        ) : (
          <p class="soft">{words.t('people.text_host', { name, host: frame.signInAt })}</p>
        )}
        {addressChanges > 0 && (
          <Notice kind="info">
            <a href="/account/people/addresses">{words.t('people.addresses', { count: addressChanges })}</a>
          </Notice>
        )}
      </>
    ),
    search: { label: words.t('operator.connections_search'), hint: words.t('operator.connections_search_hint') },
    place: { path: '/account/people', wish },
    columns: [
      { title: words.t('grant.user'), sort: 'email' },
      { title: words.t('layout.roles') },
      { title: words.t('operator.since'), sort: 'created' },
      { title: words.t('operator.status') },
    ],
    page: people,
    keyOf: ({ id }) => id,
    cellsOf: ({ id, email, roles, createdAt, status, you }) => [
      <>
        <a href={`/account/person?user=${encodeURIComponent(id)}`}>
          <bdi>{email}</bdi>
        </a>{' '}
        {you && <span class="soft">{words.t('people.you')}</span>}
      </>,
      roles.length === 0 ? words.t('people.no_role') : <bdi>{words.list(roles)}</bdi>,
      <Day words={words} ms={createdAt} />,
      <Status words={words} status={status} />,
    ],
    none: words.t('operator.none_found'),
    note: people.lines.length === 1 && wish.search === '' && frame.signInAt === null && (
      <p class="soft">{words.t('people.only_you')}</p>
    ),
  })
}
