/** Applications that the account registered, listed for its administrators. */

import { applicationHref, Ways } from '../grants/application-ways.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
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

export type DeveloperListModel = { readonly applications: readonly ListedApplication[] }

export function developerListPage(frame: Frame, { applications }: DeveloperListModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('developer.title'),
    <>
      <header class="stack tight">
        <h1>{words.t('developer.title')}</h1>
        <p class="soft">{words.t('developer.text', { name })}</p>
        <p class="actions">
          <a class="button" href="/developer/new">
            {words.t('developer.register')}
          </a>
        </p>
      </header>
      {applications.length === 0 ? (
        <section class="card stack tight">
          <p>{words.t('developer.none')}</p>
          <p class="soft">{words.t('developer.none_text')}</p>
        </section>
      ) : (
        <ul class="cards">
          {applications.map((application) => (
            <ApplicationCard words={words} application={application} key={application.id} />
          ))}
        </ul>
      )}
    </>,
    { wide: true },
  )
}

type CardProps = { readonly words: Words; readonly application: ListedApplication }

function ApplicationCard({ words, application }: CardProps) {
  const { id, suspended, testMode, grants } = application
  return (
    <li class="card stack tight">
      <div class="heading">
        <div class="named">
          <Avatar name={application.name} logo={application.logo} />
          <h2>
            <a class="target" href={applicationHref(id)}>
              <bdi>{application.name}</bdi>
            </a>
          </h2>
        </div>
        {suspended && <span class="badge warning">{words.t('developer.suspended')}</span>}
        {testMode && <span class="badge">{words.t('test_mode.title')}</span>}
      </div>
      <Facts>
        <Fact name={words.t('developer.id')}>
          <bdi class="technical">{id}</bdi>
        </Fact>
        <Fact name={words.t('developer.connected')}>
          <Ways words={words} code={application.code} dialog={application.dialog} />
        </Fact>
        <Fact name={words.t('developer.secrets')}>{application.public && words.t('developer.no_secret')}</Fact>
        <Fact name={words.t('developer.in_use')}>{words.t('developer.grants', { grants })}</Fact>
        <Fact name={words.t('developer.since')}>
          <Day words={words} ms={application.createdOn} />
        </Fact>
      </Facts>
    </li>
  )
}
