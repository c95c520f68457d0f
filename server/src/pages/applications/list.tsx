/** Applications that the account registered, listed for its administrators. */

import type { TablePage, TableWish } from '../../core/table.ts'
import { applicationHref, Ways } from '../grants/application-ways.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { listPage } from '../ui/list-page.tsx'
import { grantCount } from '../ui/table.tsx'
import type { Words } from '../ui/words.ts'

type ListedApplication = {
  readonly id: string
  readonly name: string
  /** Logo URL. */
  readonly logo: string | null
  readonly createdOn: number
  readonly suspended: boolean
  readonly testMode: boolean
  /** `code`: uses the device flow. `dialog`: uses the dialog. */
  readonly code: boolean
  readonly dialog: boolean
  /** Public client: has no secret. */
  readonly public: boolean
  /** Number of live grants. */
  readonly grants: number
}

export type DeveloperListModel = {
  readonly wish: TableWish<'name' | 'created'>
  readonly applications: TablePage<ListedApplication>
}

export function developerListPage(frame: Frame, { wish, applications }: DeveloperListModel): string {
  const { words } = frame
  const title = words.t('developer.title')
  const intro = (
    <>
      <p class="soft">{words.t('developer.text', { name: frame.account?.name ?? '' })}</p>
      <p class="actions">
        <a class="button" href="/developer/new">
          {words.t('developer.register')}
        </a>
      </p>
    </>
  )
  if (applications.lines.length === 0 && wish.search === '' && wish.after === null) {
    return page(
      frame,
      title,
      <>
        <header class="stack tight">
          <h1>{title}</h1>
          {intro}
        </header>
        <section class="card stack tight">
          <p>{words.t('developer.none')}</p>
          <p class="soft">{words.t('developer.none_text')}</p>
        </section>
      </>,
      { wide: true },
    )
  }
  return listPage(frame, {
    title,
    intro,
    search: { label: words.t('operator.applications_search'), hint: words.t('operator.applications_search_hint') },
    place: { path: '/developer', wish },
    columns: [
      { title: words.t('audit.application'), sort: 'name' },
      { title: words.t('developer.id') },
      { title: words.t('developer.connected') },
      { title: words.t('developer.in_use') },
      { title: words.t('developer.since'), sort: 'created' },
      { title: words.t('operator.status') },
    ],
    page: applications,
    keyOf: ({ id }) => id,
    cellsOf: (application) => applicationCells(words, application),
    none: words.t('operator.none_found'),
  })
}

function applicationCells(words: Words, application: ListedApplication) {
  const { id, name, logo, code, dialog, suspended, testMode, grants, createdOn } = application
  return [
    <div class="named">
      <Avatar name={name} logo={logo} />
      <a href={applicationHref(id)}>
        <bdi>{name}</bdi>
      </a>
    </div>,
    <bdi class="technical soft">{id}</bdi>,
    <>
      <Ways words={words} code={code} dialog={dialog} />
      {application.public && <p class="hint">{words.t('developer.no_secret')}</p>}
    </>,
    grantCount(words, grants),
    <Day words={words} ms={createdOn} />,
    <span class="badges">
      {suspended && <span class="badge warning">{words.t('developer.suspended')}</span>}
      {testMode && <span class="badge">{words.t('test_mode.title')}</span>}
    </span>,
  ]
}
