/**
 * Audit log page, newest entry first, with filters and export. Administrators see their own account, operators all
 * accounts.
 */
import type { AuditEntry } from '../../core/audit/entry.ts'
import { auditGroups } from '../../core/audit/kind.ts'
import { Moment } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import { Select } from '../ui/field-kinds.tsx'
import { Form, SearchForm } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { AuditLine } from './line.tsx'

/** Filters as typed. */
export type AuditFilters = {
  /** One of `auditGroups`, or empty. */
  readonly kind: string
  readonly person: string
  readonly application: string
  /** Id of a request. */
  readonly request: string
  /** Dates as 2026-11-15. */
  readonly from: string
  readonly until: string
  /** Null: the page shows one account only, so there is no account filter. */
  readonly account: string | null
}

export type AuditModel = {
  /** Path of this page; the export is at `/export` below it. */
  readonly base: '/account/audit' | '/operator/audit'
  readonly filters: AuditFilters
  /** Date filters that cannot be parsed. */
  readonly problems: readonly ('from' | 'until')[]
  readonly entries: readonly AuditEntry[]
  /** Cursor: the last entry of the previous page. */
  readonly continued: string | null
  /** Cursor of the next page; null on the last one. */
  readonly after: number | null
  readonly sealed: { readonly position: number; readonly at: number } | null
  /** First day of the last seven, as a filter. */
  readonly weekFrom: string
  /** Maximum number of entries of one export file. */
  readonly max: number
}

export function auditPage(frame: Frame, model: AuditModel): string {
  const { words } = frame
  const { base } = model
  const problems = model.problems.map((field) => ({ field, text: problemText(words) }))
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('audit.title'),
    <>
      <Problems words={words} problems={problems} />
      <header class="stack tight">
        <h1>{words.t('audit.title')}</h1>
        <p class="soft">
          {base === '/operator/audit' ? words.t('audit.text_operator') : words.t('audit.text', { name })}
        </p>
        {problems.length === 0 && <Sealed frame={frame} sealed={model.sealed} />}
      </header>
      <p>
        <a href={auditHref(base, { ...model.filters, from: model.weekFrom, until: '' }, null)}>
          {words.t('audit.last_week')}
        </a>
      </p>
      <Find frame={frame} model={model} />
      {problems.length === 0 && (
        <>
          <Entries frame={frame} model={model} />
          <Download frame={frame} model={model} />
        </>
      )}
    </>,
    { wide: true, problem: problems.length > 0 },
  )
}

function problemText(words: Words): string {
  return words.t('audit.problem_day', { day: '2026-11-15' })
}

type PartProps = { readonly frame: Frame; readonly model: AuditModel }

function Sealed({ frame: { words }, sealed }: { readonly frame: Frame; readonly sealed: AuditModel['sealed'] }) {
  if (!sealed) return <p class="hint">{words.t('audit.sealed_none')}</p>
  const { position, at } = sealed
  return <p class="hint">{words.rich('audit.sealed', { position, time: () => <Moment words={words} ms={at} /> })}</p>
}

/** Collapsed unless a filter is set: most visitors want the newest entries. */
function Find({ frame: { words }, model: { base, filters, problems } }: PartProps) {
  const chosen = isChosen(filters)
  const kinds = auditGroups.map((group) => ({ value: group, text: words.t(`audit.group_${group}`) }))
  const day = (name: 'from' | 'until') => (
    <Field
      id={name}
      // An invalid date is shown as text; an `<input type="date">` would show nothing.
      type={problems.includes(name) ? 'text' : 'date'}
      label={words.t(`audit.${name}`)}
      hint={words.t('audit.day_hint')}
      value={filters[name]}
      problem={problems.includes(name) ? problemText(words) : null}
    />
  )
  return (
    <details class="card find" open={chosen}>
      <summary>{words.t('audit.find')}</summary>
      <SearchForm action={base} class="stack">
        <Select
          id="kind"
          label={words.t('audit.kind')}
          options={[{ value: '', text: words.t('audit.kind_any') }, ...kinds]}
          value={filters.kind}
        />
        <div class="fields">
          {filters.account !== null && (
            <Field
              id="account"
              label={words.t('audit.account')}
              hint={words.t('audit.account_hint')}
              value={filters.account}
            />
          )}
          <Field
            id="person"
            label={words.t('audit.person')}
            hint={words.t('audit.person_hint')}
            value={filters.person}
            inputmode="email"
          />
          <Field
            id="application"
            label={words.t('audit.application')}
            hint={words.t('audit.application_hint')}
            value={filters.application}
          />
          <Field
            id="request"
            label={words.t('audit.request')}
            hint={words.t('audit.request_hint')}
            value={filters.request}
          />
        </div>
        <div class="fields">
          {day('from')}
          {day('until')}
        </div>
        <p class="actions">
          <button type="submit" class="button">
            {words.t('audit.show')}
          </button>
          {chosen && <a href={base}>{words.t('audit.show_all')}</a>}
        </p>
      </SearchForm>
    </details>
  )
}

function Entries({ frame: { words }, model }: PartProps) {
  const { base, filters, entries, continued, after } = model
  return (
    <section class="card stack" aria-labelledby="entries">
      <h2 id="entries">{words.t(continued === null ? 'audit.entries' : 'audit.entries_older')}</h2>
      {entries.length === 0 ? (
        <p>{words.t(emptyText(model))}</p>
      ) : (
        <ol class="rows entries">
          {entries.map((entry) => (
            <AuditLine words={words} entry={entry} key={entry.id} />
          ))}
        </ol>
      )}
      {(after !== null || continued !== null) && (
        <p class="actions">
          {after !== null && (
            <a class="button quiet" href={auditHref(base, filters, String(after))} rel="next">
              {words.t('audit.older')}
            </a>
          )}
          {continued !== null && <a href={auditHref(base, filters, null)}>{words.t('audit.newest')}</a>}
        </p>
      )}
    </section>
  )
}

function emptyText({ filters, after, continued }: AuditModel) {
  if (after !== null) return 'audit.none_so_far'
  return isChosen(filters) || continued !== null ? 'audit.none' : 'audit.empty'
}

function Download({ frame, model: { base, filters, continued, max } }: PartProps) {
  const { words } = frame
  const hidden = { ...given(filters), ...(continued === null ? {} : { after: continued }) }
  return (
    <section class="card stack" aria-labelledby="download">
      <h2 id="download">{words.t('audit.download')}</h2>
      <p>{words.t('audit.download_text', { max })}</p>
      <Form frame={frame} action={`${base}/export`} hidden={hidden} class="actions">
        <button type="submit" name="format" value="csv" class="button quiet">
          {words.t('audit.download_csv')}
        </button>
        <button type="submit" name="format" value="ndjson" class="button quiet">
          {words.t('audit.download_ndjson')}
        </button>
      </Form>
    </section>
  )
}

function isChosen(filters: AuditFilters): boolean {
  return Object.keys(given(filters)).length > 0
}

/** Only the filters that are set. */
function given(filters: AuditFilters): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(filters).filter((each): each is [string, string] => !!each[1]))
}

/** URL of the same search, starting after another entry. */
export function auditHref(base: AuditModel['base'], filters: AuditFilters, after: string | null): string {
  const query = new URLSearchParams({ ...given(filters), ...(after === null ? {} : { after }) }).toString()
  return query === '' ? base : `${base}?${query}`
}
