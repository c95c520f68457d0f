/** Accounts of the service, searchable, for operators. */
import type { AccountLine } from '../../core/operator/listed.ts'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { More, Search } from '../ui/search.tsx'

export type OperatorAccountsModel = {
  readonly search: string
  readonly accounts: readonly AccountLine[]
  /** Cursor of the next page; null on the last one. */
  readonly after: string | null
}

const HERE = '/operator/accounts'

export function operatorAccountsPage(frame: Frame, { search, accounts, after }: OperatorAccountsModel): string {
  const { words } = frame
  const title = words.t('operator.nav_accounts')
  return page(
    frame,
    title,
    <>
      <header class="stack tight">
        <h1>{title}</h1>
        <Search
          words={words}
          action={HERE}
          label={words.t('operator.accounts_search')}
          hint={words.t('operator.accounts_search_hint')}
          value={search}
        />
      </header>
      <section class="card stack" aria-label={title}>
        {accounts.length === 0 ? (
          <p>{words.t('operator.none_found')}</p>
        ) : (
          <ul class="rows">
            {accounts.map(({ slug, name, people, applications, grants, createdAt }) => (
              <li key={slug}>
                <div>
                  <a class="target" href={`/operator/account?account=${encodeURIComponent(slug)}`}>
                    <bdi>{name}</bdi>
                  </a>{' '}
                  <bdi class="technical soft">{slug}</bdi>
                  <p class="hint">
                    {words.t('operator.people_count', { people })} ·{' '}
                    {words.t('operator.applications_count', { applications })} ·{' '}
                    {words.t('operator.grants_count', { grants })} · <Day words={words} ms={createdAt} />
                  </p>
                </div>
              </li>
            ))}
          </ul>
        )}
        <More words={words} action={HERE} value={search} after={after} />
      </section>
    </>,
    { wide: true },
  )
}
