/** Users of the account, listed for its administrators. */

import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { type PersonStatus, Status } from './person-status.tsx'

type ListedPerson = {
  readonly id: string
  readonly email: string
  /** Role names. */
  readonly roles: readonly string[]
  readonly status: PersonStatus
  readonly you: boolean
}

export type PeopleModel = {
  readonly people: readonly ListedPerson[]
  readonly notice: null | 'invited' | 'saved' | 'disabled' | 'enabled' | 'link_sent' | 'proposed'
  /** E-mail address of the user that the notice is about. */
  readonly who: string | null
}

export function peoplePage(frame: Frame, { people, notice, who }: PeopleModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('people.title'),
    <>
      {notice && (
        <Notice kind="success">
          {words.t(`people.notice_${notice}`, { who: who ?? words.t('people.somebody') })}
          {(notice === 'invited' || notice === 'link_sent') && <MailWaits frame={frame} />}
        </Notice>
      )}
      <header class="stack tight">
        <h1>{words.t('people.title')}</h1>
        <p class="soft">{words.t('people.text', { name })}</p>
        <p class="actions">
          <a class="button" href="/account/people/invite">
            {words.t('people.invite')}
          </a>
        </p>
      </header>
      <section class="card stack">
        <ul class="rows">
          {people.map((person) => (
            <PersonRow words={words} person={person} key={person.id} />
          ))}
        </ul>
        {people.length < 2 && <p class="soft">{words.t('people.only_you')}</p>}
      </section>
    </>,
    { wide: true },
  )
}

function PersonRow({ words, person }: { readonly words: Words; readonly person: ListedPerson }) {
  const { email, roles } = person
  return (
    <li>
      <div>
        <a class="target" href={`/account/person?user=${encodeURIComponent(person.id)}`}>
          <bdi>{email}</bdi>
        </a>{' '}
        {person.you && <span class="soft">{words.t('people.you')}</span>}
        <p class="hint">
          {roles.length === 0
            ? words.t('people.no_role')
            : words.t('people.roles', { roles: words.list(roles), count: roles.length })}
        </p>
      </div>
      <Status words={words} status={person.status} />
    </li>
  )
}
