/** Applications of the service, searchable, for operators: all of them, not only those under review. */
import type { ApplicationLine } from '../../core/operator/listed.ts'
import { operatorHref } from '../reviews/line.tsx'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { More, Search } from '../ui/search.tsx'
import type { Words } from '../ui/words.ts'

/** `account` is null where the page already names the account. */
export type ListedApplication = Omit<ApplicationLine, 'account'> & { readonly account: string | null }

export type OperatorApplicationsModel = {
  readonly search: string
  readonly applications: readonly ListedApplication[]
  /** Cursor of the next page; null on the last one. */
  readonly after: string | null
}

const HERE = '/operator/applications'

export function operatorApplicationsPage(frame: Frame, model: OperatorApplicationsModel): string {
  const { words } = frame
  const { search, applications, after } = model
  const title = words.t('operator.nav_applications')
  return page(
    frame,
    title,
    <>
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.applications_text')}</p>
        <Search
          words={words}
          action={HERE}
          label={words.t('operator.applications_search')}
          hint={words.t('operator.applications_search_hint')}
          value={search}
        />
      </header>
      <section class="card stack" aria-label={title}>
        {applications.length === 0 ? (
          <p>{words.t('operator.none_found')}</p>
        ) : (
          <ApplicationRows words={words} applications={applications} />
        )}
        <More words={words} action={HERE} value={search} after={after} />
      </section>
    </>,
    { wide: true },
  )
}

type RowsProps = { readonly words: Words; readonly applications: readonly ListedApplication[] }

export function ApplicationRows({ words, applications }: RowsProps) {
  return (
    <ul class="rows">
      {applications.map(({ id, name, account, createdAt, suspended, grants }) => (
        <li key={id}>
          <div>
            <a class="target" href={operatorHref(id)}>
              <bdi>{name}</bdi>
            </a>{' '}
            <bdi class="technical soft">{id}</bdi>
            <p class="hint">
              {account !== null && `${words.t('operator.line_account', { account })} · `}
              {words.t('operator.grants_count', { grants })} · <Day words={words} ms={createdAt} />
            </p>
          </div>
          {suspended && <span class="badge danger">{words.t('operator.suspended')}</span>}
        </li>
      ))}
    </ul>
  )
}
