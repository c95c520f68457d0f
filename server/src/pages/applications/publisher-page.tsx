/** Publisher page of an application: its publisher now, and how to verify a domain by a DNS record. */
import type { ComponentChildren } from 'preact'
import type { Publisher } from '../../core/applications/application.ts'
import { applicationHref } from '../grants/application-ways.tsx'
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'
import { PublisherLine } from './publisher.tsx'
import { FoundTexts, RecordCard, type RecordModel } from './publisher-record.tsx'

export type ApplicationPublisherModel = {
  readonly id: string
  readonly name: string
  readonly publisher: Publisher
  /** The publisher was set by an operator and cannot be changed here. */
  readonly operatorsWord: boolean
  /** When the record was last seen; null if the publisher is not verified by a record. */
  readonly provenAt: number | null
  readonly missingSince: number | null
  /** As it was typed. */
  readonly typed: string
  readonly record: RecordModel | null
  readonly problem: null | DomainProblemAt
  /** Result of the DNS check just made. */
  readonly result: null | CheckResult
  readonly notice: null | 'proven' | 'removed'
}

type DomainProblemAt = 'empty' | 'address' | 'port' | 'ip' | 'single' | 'dot' | 'too_long' | 'not_a_domain' | 'ours'

export type CheckResult =
  | { readonly outcome: 'none' | 'silent' | 'name_taken' }
  | { readonly outcome: 'other'; readonly found: readonly string[] }
  | { readonly outcome: 'too_many'; readonly minutes: number }

type PartProps = { readonly frame: Frame; readonly model: ApplicationPublisherModel }

export function applicationPublisherPage(frame: Frame, model: ApplicationPublisherModel): string {
  const { words } = frame
  const { id, record, problem, result, notice } = model
  const title = words.t('publisher_page.title', { name: model.name })
  const wrong = problem && words.t(`publisher_page.problem_${problem}`)
  return page(
    frame,
    title,
    <>
      <Problems words={words} problems={wrong ? [{ field: 'domain', text: wrong }] : []} />
      {notice && !wrong && !result && (
        <Notice kind="success">
          {words.t(`publisher_page.notice_${notice}`, { domain: model.publisher.name ?? '' })}
        </Notice>
      )}
      {result && <Result words={words} result={result} record={record} />}
      <header class="stack tight">
        <h1>{title}</h1>
        <p>
          <a href={applicationHref(id)}>{words.t('application_settings.back')}</a>
        </p>
      </header>
      <PublisherNow frame={frame} model={model} />
      {record && !model.operatorsWord && <RecordCard frame={frame} id={id} record={record} proven={isProven(model)} />}
      {!model.operatorsWord && <OwnDomain frame={frame} model={model} wrong={wrong} />}
    </>,
    { problem: problem !== null || result !== null, wide: true },
  )
}

/** True when the displayed record is the one that verified the publisher and was not missing at the last check. */
function isProven({ record, publisher, provenAt, missingSince, result }: ApplicationPublisherModel): boolean {
  return provenAt !== null && missingSince === null && result === null && record?.domain === publisher.name
}

function PublisherNow({ frame, model }: PartProps) {
  const { words } = frame
  const { publisher, provenAt, missingSince } = model
  const domain = publisher.name ?? ''
  return (
    <section class="card stack" aria-labelledby="status">
      <h2 id="status">{words.t('publisher_page.now')}</h2>
      <p>
        <PublisherLine words={words} publisher={publisher} />
      </p>
      {model.operatorsWord && <p>{words.t('publisher_page.operators_word')}</p>}
      {missingSince !== null && (
        <Notice kind="warning" title={words.t('publisher_page.missing')}>
          <p>{words.t('publisher_page.missing_text')}</p>
        </Notice>
      )}
      {provenAt !== null && (
        <>
          <Facts>
            <Fact name={words.t('publisher_page.seen')}>
              <Day words={words} ms={provenAt} />
            </Fact>
            <Fact name={words.t('publisher_page.missing_since')}>
              {missingSince !== null && <Day words={words} ms={missingSince} />}
            </Fact>
          </Facts>
          <p class="hint">{words.t('publisher_page.every_day')}</p>
          <AreYouSure
            label={words.t('publisher_page.remove')}
            question={words.rich('publisher_page.remove_sure', { domain, b: strong })}
          >
            <Form
              frame={frame}
              action="/developer/application/publisher/remove"
              bound={{ application: model.id }}
              class="actions"
            >
              <button type="submit" class="button danger">
                {words.t('publisher_page.remove_yes')}
              </button>
            </Form>
          </AreYouSure>
        </>
      )}
    </section>
  )
}

function OwnDomain({ frame, model, wrong }: PartProps & { readonly wrong: string | null }) {
  const { words } = frame
  const proven = model.provenAt !== null
  return (
    <section class="card stack" aria-labelledby="own-domain">
      <h2 id="own-domain">{words.t(proven ? 'publisher_page.another' : 'publisher_page.prove')}</h2>
      <p>{words.t('publisher_page.text')}</p>
      <Form frame={frame} action="/developer/application/publisher" bound={{ application: model.id }} class="stack">
        <Field
          id="domain"
          label={words.t('publisher_page.domain')}
          hint={words.t('publisher_page.domain_hint')}
          value={model.typed}
          autocomplete="off"
          maxLength={300}
          problem={wrong}
        />
        <p class="actions">
          <button type="submit" class={model.record ? 'button quiet' : 'button'}>
            {words.t('publisher_page.show')}
          </button>
        </p>
      </Form>
    </section>
  )
}

type ResultProps = { readonly words: Words; readonly result: CheckResult; readonly record: RecordModel | null }

/** Takes the focus like the problem summary, because the user asked for this result. */
function Result({ words, result, record }: ResultProps) {
  const values = { domain: record?.domain ?? '', record: record?.name ?? '' }
  const said: ComponentChildren =
    result.outcome === 'too_many'
      ? words.t('publisher_page.result_too_many', { minutes: result.minutes })
      : words.t(`publisher_page.result_${result.outcome}`, values)
  return (
    <div class="notice danger" role="alert" tabIndex={-1} {...{ autofocus: true }}>
      <p>
        <strong>{words.t('publisher_page.not_proven')}</strong>
      </p>
      <p>{said}</p>
      {result.outcome === 'other' && <FoundTexts texts={result.found} />}
    </div>
  )
}
