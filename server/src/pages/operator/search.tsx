/** What the search field of the operators' console found, by kind. */
import type { ComponentChildren } from 'preact'
import type { AuditEntry } from '../../core/audit/entry.ts'
import type { OperatorGrantLine, PersonLine } from '../../core/operator/listed.ts'
import { AuditLine } from '../audit/line.tsx'
import { Day } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import type { Words } from '../ui/words.ts'
import { accountHref, operatorHref, personHref } from './hrefs.ts'

export type OperatorSearchModel = {
  readonly text: string
  readonly accounts: readonly { readonly slug: string; readonly name: string }[]
  readonly people: readonly PersonLine[]
  readonly applications: readonly {
    readonly id: string
    readonly name: string
    readonly account: string
    readonly suspended: boolean
  }[]
  readonly grants: readonly OperatorGrantLine[]
  readonly events: readonly AuditEntry[]
}

export function operatorSearchPage(frame: Frame, model: OperatorSearchModel): string {
  const { words } = frame
  const { text, accounts, people, applications, grants, events } = model
  const found = [accounts, people, applications, grants, events].some((kind) => kind.length > 0)
  const title = words.t(text === '' ? 'operator.find' : 'operator.found', { text })
  return page(
    frame,
    title,
    <>
      <header class="stack tight">
        <h1>{title}</h1>
        {!found && text !== '' && <p>{words.t('operator.found_nothing')}</p>}
        {!found && <p class="soft">{words.t('operator.find_hint')}</p>}
      </header>
      <div class="findings">
        <Kind
          id="accounts"
          title={words.t('operator.nav_accounts')}
          all={<a href={`/operator/accounts?q=${encodeURIComponent(text)}`}>{words.t('operator.found_all')}</a>}
        >
          {accounts.map(({ slug, name }) => (
            <li key={slug}>
              <div>
                <a href={accountHref(slug)}>
                  <bdi>{name}</bdi>
                </a>
                <p class="hint">
                  <bdi class="technical">{slug}</bdi>
                </p>
              </div>
            </li>
          ))}
        </Kind>
        <Kind id="people" title={words.t('operator.people')}>
          {people.map(({ id, email, account, disabled }) => (
            <li key={id}>
              <div>
                <a href={personHref(id)}>
                  <bdi>{email}</bdi>
                </a>
                <p class="hint">{words.t('operator.line_account', { account })}</p>
              </div>
              {disabled && <span class="badge warning">{words.t('operator.person_disabled')}</span>}
            </li>
          ))}
        </Kind>
        <Kind
          id="applications"
          title={words.t('operator.nav_applications')}
          all={<a href={`/operator/applications?q=${encodeURIComponent(text)}`}>{words.t('operator.found_all')}</a>}
        >
          {applications.map(({ id, name, account, suspended }) => (
            <li key={id}>
              <div>
                <a href={operatorHref(id)}>
                  <bdi>{name}</bdi>
                </a>
                <p class="hint">
                  {words.t('operator.line_account', { account })} ·{' '}
                  <a href={`/operator/grants?application=${id}`}>{words.t('operator.who_connected')}</a>
                </p>
              </div>
              {suspended && <span class="badge danger">{words.t('operator.suspended')}</span>}
            </li>
          ))}
        </Kind>
        <Kind id="grants" title={words.t('operator.connections')}>
          {grants.map((grant) => (
            <FoundGrant words={words} grant={grant} key={grant.id} />
          ))}
        </Kind>
        <Kind
          id="events"
          title={words.t('layout.audit')}
          all={<a href={`/operator/audit?request=${encodeURIComponent(text)}`}>{words.t('operator.found_all')}</a>}
        >
          {events.map((entry) => (
            <AuditLine words={words} entry={entry} key={entry.id} />
          ))}
        </Kind>
      </div>
    </>,
    { wide: true },
  )
}

function FoundGrant({ words, grant }: { readonly words: Words; readonly grant: OperatorGrantLine }) {
  const { id, application, applicationId, email, userId, account, connectedAt, endedAt } = grant
  return (
    <li>
      <div>
        <a href={operatorHref(applicationId)}>
          <bdi>{application}</bdi>
        </a>
        {' · '}
        <a href={personHref(userId)}>
          <bdi>{email}</bdi>
        </a>
        <p class="hint">
          {words.t('operator.line_account', { account })} · <Day words={words} ms={connectedAt} /> ·{' '}
          {words.t(endedAt === null ? 'operator.connection_live' : 'operator.connection_ended')}
        </p>
        <p class="hint">
          <bdi class="technical">{id}</bdi>
        </p>
      </div>
    </li>
  )
}

type KindProps = {
  readonly id: string
  readonly title: string
  /** Link to all that match, where there is a list. */
  readonly all?: ComponentChildren
  readonly children: readonly ComponentChildren[]
}

/** Nothing of this kind: not shown. */
function Kind({ id, title, all, children }: KindProps) {
  if (children.length === 0) return null
  return (
    <section class="card stack tight" aria-labelledby={id}>
      <div class="heading">
        <h2 id={id}>{title}</h2>
        {all}
      </div>
      <ul class="rows">{children}</ul>
    </section>
  )
}
