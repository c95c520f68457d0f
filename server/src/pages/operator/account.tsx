/** Page about one account, for operators: its administrators as contacts, and its applications. */
import type { AccountLine, ApplicationLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { grantCount } from '../ui/table.tsx'
import { ApplicationTable } from './applications.tsx'

export type OperatorAccountModel = Omit<AccountLine, 'applications'> & {
  readonly wish: TableWish<'name' | 'created'>
  /** Host name. */
  readonly host: string
  readonly administrators: readonly { readonly email: string; readonly disabled: boolean }[]
  readonly applications: TablePage<ApplicationLine>
}

export function operatorAccountPage(frame: Frame, model: OperatorAccountModel): string {
  const { words } = frame
  const { slug, name, administrators, applications, wish } = model
  return page(
    frame,
    name,
    <>
      <header class="stack tight">
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <p>
          <a href="/operator/accounts">{words.t('operator.back_to_accounts')}</a>
        </p>
      </header>
      <section class="card stack" aria-labelledby="about">
        <h2 id="about">{words.t('operator.about_account')}</h2>
        <Facts>
          <Fact name={words.t('operator.address')}>
            <bdi class="technical">{model.host}</bdi>
          </Fact>
          <Fact name={words.t('operator.since')}>
            <Day words={words} ms={model.createdAt} />
          </Fact>
          <Fact name={words.t('operator.people')}>{words.number(model.people)}</Fact>
          <Fact name={words.t('layout.audit')}>
            <a href={`/operator/audit?account=${encodeURIComponent(slug)}`}>{words.t('operator.account_audit')}</a>
          </Fact>
          <Fact name={words.t('developer.in_use')}>{grantCount(words, model.grants)}</Fact>
          <Fact name={words.t('operator.administrators')}>
            {administrators.length === 0 ? (
              words.t('operator.administrators_none')
            ) : (
              <ul class="titles">
                {administrators.map(({ email, disabled }) => (
                  <li key={email}>
                    <bdi>{email}</bdi>
                    {disabled && ` ${words.t('operator.administrator_disabled')}`}
                  </li>
                ))}
              </ul>
            )}
          </Fact>
        </Facts>
      </section>
      <section class="card stack" aria-labelledby="applications">
        <h2 id="applications">{words.t('operator.account_applications')}</h2>
        <ApplicationTable
          words={words}
          place={{ path: '/operator/account', kept: { account: slug }, wish }}
          applications={applications}
          none={words.t('operator.account_applications_none')}
        />
      </section>
    </>,
    { wide: true },
  )
}
