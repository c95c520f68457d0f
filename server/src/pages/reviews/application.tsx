/** Page about one application, for operators: its state, review, evidence, charts, decisions and history. */

import type { ReviewView } from '../../core/reviews/review.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice, type Problem, Problems } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import type { OperatorApplicationModel } from './application-model.ts'
import { ApplicationCharts } from './charts.tsx'
import { DecisionCard, FoldedDecisions, fieldOf } from './decide.tsx'
import { PastDecisions } from './decisions.tsx'
import { EvidenceCard } from './evidence.tsx'
import { ReviewBadges } from './line.tsx'
import { RequestCard, wordsField } from './request.tsx'
import { SuspensionState } from './suspension.tsx'
import { TimelineCard } from './timeline.tsx'

export function operatorApplicationPage(frame: Frame, model: OperatorApplicationModel): string {
  const { words } = frame
  const { id, name, review, requests, notice, form, answerForm } = model
  const reviewed = review !== null && review.closedAt === null
  // What waits for a decision belongs to the queue, otherwise to the list of all applications.
  const waits = reviewed || requests.some((request) => request.kind === 'profile' || !request.approved)
  const onlyRequests = waits && !reviewed && !model.suspended
  const wrong = problemsOf(words, model)
  return page(
    frame,
    name,
    <>
      <Problems words={words} problems={wrong} />
      {notice && wrong.length === 0 && (
        <Notice kind="success">
          {words.t(`operator.notice_${notice}`)}
          {MAILED.includes(notice) && <MailWaits frame={frame} />}
        </Notice>
      )}
      <header class="stack tight">
        <div class="heading">
          <h1>
            <bdi>{name}</bdi>
          </h1>
          {review && <ReviewBadges words={words} review={{ ...review, suspended: model.suspended }} />}
          {!review && model.suspended && <span class="badge danger">{words.t('operator.suspended')}</span>}
        </div>
        <p>
          {waits ? (
            <a href="/operator/reviews">{words.t('operator.back_to_queue')}</a>
          ) : (
            <a href="/operator/applications">{words.t('operator.back_to_applications')}</a>
          )}
        </p>
      </header>
      {requests.map((request) => (
        <RequestCard
          frame={frame}
          applicationId={id}
          request={request}
          seen={form?.seen ?? null}
          form={answerForm}
          key={request.kind}
        />
      ))}
      {onlyRequests || <SuspensionState frame={frame} model={model} />}
      <div class="beside">
        {review && (
          <div class="stack">
            {review.appeal && <Appeal frame={frame} review={review} />}
            <EvidenceCard words={words} review={review} />
          </div>
        )}
        {onlyRequests ? <FoldedDecisions frame={frame} model={model} /> : <DecisionCard frame={frame} model={model} />}
      </div>
      <ApplicationCharts words={words} series={model.series} />
      <div class="beside">
        <PastDecisions
          frame={frame}
          applicationId={model.id}
          decisions={model.decisions}
          confirmationProblem={model.confirmationProblem}
        />
        <TimelineCard words={words} application={name} timeline={model.timeline} />
        <About frame={frame} model={model} />
      </div>
    </>,
    { wide: true, problem: wrong.length > 0, within: waits ? '/operator/reviews' : '/operator/applications' },
  )
}

/** Notices of what the developers get a mail about. */
const MAILED: readonly OperatorApplicationModel['notice'][] = ['decided', 'confirmed', 'approved', 'declined']

function problemsOf(words: Words, model: OperatorApplicationModel): readonly Problem[] {
  const { problem, form, answerForm } = model
  if (problem) return [{ field: null, text: words.t(`operator.problem_${problem}`) }]
  if (answerForm?.wrong) return [{ field: wordsField(answerForm.kind), text: words.t('operator.problem_words') }]
  if (!form?.problem) return []
  return [{ field: fieldOf(words, form, model), text: words.t(`operator.problem_${form.problem}`) }]
}

type PartProps = { readonly frame: Frame; readonly model: OperatorApplicationModel }

/** The developer's own words: untrusted, shown as plain text. */
function Appeal({ frame: { words }, review }: { readonly frame: Frame; readonly review: ReviewView }) {
  return (
    <section class="card stack tight" aria-labelledby="appeal">
      <h2 id="appeal">{words.t('operator.appeal')}</h2>
      <div class="says">
        <blockquote dir="auto" class="spoken">
          {review.appeal}
        </blockquote>
      </div>
      {review.appealedAt !== null && (
        <p class="hint">
          <Day words={words} ms={review.appealedAt} />
        </p>
      )}
    </section>
  )
}

function About({ frame: { words }, model }: PartProps) {
  const { id, account, grants } = model
  return (
    <section class="card stack" aria-labelledby="about">
      <h2 id="about">{words.t('operator.about')}</h2>
      <Facts>
        <Fact name={words.t('developer.id')}>
          <bdi class="technical">{id}</bdi>
        </Fact>
        <Fact name={words.t('operator.account')}>
          <a href={`/operator/account?account=${encodeURIComponent(account.slug)}`}>
            <bdi>{account.name}</bdi>
          </a>
        </Fact>
        <Fact name={words.t('operator.publisher')}>
          <PublisherLine words={words} publisher={model.publisher} />
        </Fact>
        <Fact name={words.t('developer.since')}>
          <Day words={words} ms={model.createdAt} />
        </Fact>
        <Fact name={words.t('developer.connected')}>{model.deviceFlow && words.t('developer.by_code')}</Fact>
        <Fact name={words.t('developer.secrets')}>{model.public && words.t('developer.no_secret')}</Fact>
        <Fact name={words.t('developer.in_use')}>
          {words.t('developer.grants', { grants })}{' '}
          <a href={`/operator/grants?application=${id}`}>{words.t('operator.who_connected')}</a>
        </Fact>
        <Fact name={words.t('operator.interval')}>
          {words.t('operator.seconds', { seconds: model.pollIntervalSeconds })}
        </Fact>
        <Fact name={words.t('operator.reports')}>
          {words.t('operator.accounts_count', { accounts: model.reportsByAccounts })}
        </Fact>
        <Fact name={words.t('layout.audit')}>
          <a href={`/operator/audit?application=${id}`}>{words.t('operator.application_audit')}</a>
        </Fact>
      </Facts>
    </section>
  )
}
