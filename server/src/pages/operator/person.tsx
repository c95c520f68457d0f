/** Page about one user, for operators: their connections, and ending all of them. */
import type { OperatorGrantLine, PersonLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import { type GrantColumn, GrantTable } from './grants.tsx'
import { accountHref } from './hrefs.ts'

export type OperatorPersonModel = PersonLine & {
  readonly wish: TableWish<GrantColumn>
  /** Live ones. */
  readonly grants: TablePage<OperatorGrantLine>
  readonly notice: null | 'ended'
}

export function operatorPersonPage(frame: Frame, model: OperatorPersonModel): string {
  const { words } = frame
  const { id, email, account, createdAt, disabled, wish, grants, notice } = model
  const place = { path: '/operator/person', kept: { user: id }, wish }
  return page(
    frame,
    email,
    <>
      {notice && <Notice kind="success">{words.t('operator.connections_ended')}</Notice>}
      <header class="stack tight">
        <div class="heading">
          <h1>
            <bdi>{email}</bdi>
          </h1>
          {disabled && <span class="badge warning">{words.t('operator.person_disabled')}</span>}
        </div>
      </header>
      <section class="card stack" aria-labelledby="about">
        <h2 id="about">{words.t('operator.about_account')}</h2>
        <Facts>
          <Fact name={words.t('developer.id')}>
            <bdi class="technical">{id}</bdi>
          </Fact>
          <Fact name={words.t('operator.account')}>
            <a href={accountHref(account)}>
              <bdi>{account}</bdi>
            </a>
          </Fact>
          <Fact name={words.t('operator.since')}>
            <Day words={words} ms={createdAt} />
          </Fact>
          <Fact name={words.t('layout.audit')}>
            <a href={`/operator/audit?${new URLSearchParams({ account, person: email })}`}>
              {words.t('operator.person_audit')}
            </a>
          </Fact>
        </Facts>
      </section>
      <div class="card stack">
        <div class="heading">
          <h2>{words.t('operator.connections')}</h2>
          <a href={`/operator/grants?user=${encodeURIComponent(id)}&state=all`}>
            {words.t('operator.connections_all')}
          </a>
        </div>
        <GrantTable words={words} place={place} grants={grants} />
        {grants.lines.length > 0 && (
          <AreYouSure
            label={words.t('operator.end_connections')}
            question={words.rich('operator.end_connections_sure', { email, b: strong })}
          >
            <Form frame={frame} action="/operator/person/end-connections" bound={{ user: id }} class="actions">
              <button type="submit" class="button danger">
                {words.t('operator.end_connections_yes')}
              </button>
            </Form>
          </AreYouSure>
        )}
      </div>
    </>,
    { wide: true },
  )
}
