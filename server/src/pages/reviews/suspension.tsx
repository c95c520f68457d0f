/** Summary at the top of an application's page for operators: what is wrong, and what happens without a decision. */
import { type DecisionLine, type ReviewView, waitsForSecond } from '../../core/reviews/review.ts'
import { Moment } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import type { Words } from '../ui/words.ts'
import type { OperatorApplicationModel } from './application-model.ts'
import { reviewReason } from './line.tsx'

type SuspensionProps = { readonly frame: Frame; readonly model: OperatorApplicationModel }

export function SuspensionState({ frame: { words }, model }: SuspensionProps) {
  const { review, suspended } = model
  const open = review !== null && review.closedAt === null
  return (
    <section
      class={`notice suspension ${suspended ? 'danger' : open ? 'warning' : 'info'}`}
      aria-labelledby="suspension"
    >
      <h2 id="suspension">{open ? reasonInFull(words, review) : words.t('operator.no_review')}</h2>
      <p>{words.t(suspended ? 'operator.state_suspended' : 'operator.state_running')}</p>
      <Next words={words} model={model} />
      <p>
        <a class="button" href={waitingOf(model) ? '#decisions' : '#decide'}>
          {words.t(waitingOf(model) ? 'operator.to_decisions' : 'operator.to_decision')}
        </a>
      </p>
    </section>
  )
}

/** The sentence of the queue, plus the number of networks that poll. */
function reasonInFull(words: Words, review: ReviewView): string {
  const networks = Math.max(0, ...review.evidence.windows.map(({ anyAccount }) => anyAccount.ignoringNetworks))
  if (review.reason === 'reports') return words.t('operator.review_reason_reports', { people: review.evidence.reports })
  const reason = reviewReason(words, review)
  return review.reason === 'polling' && networks > 0
    ? `${reason} ${words.t('operator.review_reason_networks', { networks })}`
    : reason
}

/** The decision that waits for confirmation by a second operator. */
function waitingOf({ decisions }: OperatorApplicationModel): DecisionLine | undefined {
  return decisions.find(waitsForSecond)
}

/** The same text as the option in the decision form. */
function decisionText(words: Words, { decision }: DecisionLine, suspended: boolean): string {
  if (decision === 'keep_and_revoke') return words.t('operator.end_all')
  if (decision === 'reinstate_and_restore') return words.t('operator.reinstate_and_restore')
  return words.t(`operator.${suspended ? 'suspended' : 'running'}_${decision}`)
}

/** What happens without a decision, and when. */
function Next({ words, model }: { readonly words: Words; readonly model: OperatorApplicationModel }) {
  const { review, suspended } = model
  const waiting = waitingOf(model)
  if (waiting) {
    return <p>{words.t('operator.next_second', { who: waiting.by, what: decisionText(words, waiting, suspended) })}</p>
  }
  if (!review || review.closedAt !== null) return suspended ? <p>{words.t('operator.next_stays')}</p> : null
  if (suspended) {
    return review.suspensionEndsAt === null ? (
      <p>{words.t('operator.next_stays')}</p>
    ) : (
      <p>
        {words.t('operator.next_ends')} <Moment words={words} ms={review.suspensionEndsAt} />
      </p>
    )
  }
  if (review.warnedAt !== null && review.verdict !== 'fine') {
    return (
      <p>
        {words.t('operator.next_warned', { hours: review.thresholds.warningHours })}{' '}
        <Moment words={words} ms={review.warnedAt} />
      </p>
    )
  }
  return <p>{words.t(review.reason === 'early_polls' ? 'operator.next_early_polls' : 'operator.next_nothing')}</p>
}
