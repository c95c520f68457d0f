/** One line of the operators' review queue: reason, number affected, and what happens next. */
import type { ReviewLine } from '../../core/reviews/review.ts'
import { KeyList, Moment } from '../ui/elements.tsx'
import type { Words } from '../ui/words.ts'

export function operatorHref(applicationId: string): string {
  return `/operator/application?application=${encodeURIComponent(applicationId)}`
}

type ListProps = { readonly words: Words; readonly reviews: readonly ReviewLine[]; readonly now: number }

/** Expects the reviews sorted, worst first. */
export function ReviewList({ words, reviews, now }: ListProps) {
  return (
    <KeyList>
      <ol class="rows">
        {reviews.map((review) => (
          <ReviewItem words={words} review={review} now={now} key={review.applicationId} />
        ))}
      </ol>
    </KeyList>
  )
}

type LineProps = { readonly words: Words; readonly review: ReviewLine; readonly now: number }

function ReviewItem({ words, review, now }: LineProps) {
  const { applicationId, application, account, openedAt, closedAt, waitingSince, suspensionEndsAt } = review
  return (
    <li>
      <div class="stack tight">
        <div class="heading">
          <a class="target" href={operatorHref(applicationId)}>
            <bdi>{application}</bdi>
          </a>
          <ReviewBadges words={words} review={review} />
        </div>
        <p>{reviewReason(words, review)}</p>
        <p class="hint">
          {words.t('operator.line_account', { account })}
          {' · '}
          {closedAt === null ? words.t('operator.line_opened', { ago: words.ago(now - openedAt) }) : null}
          {closedAt !== null && (
            <>
              {words.t('operator.line_closed')} <Moment words={words} ms={closedAt} />
            </>
          )}
          {waitingSince !== null && (
            <>
              {' · '}
              {words.t('operator.line_waiting', { ago: words.ago(now - waitingSince) })}
            </>
          )}
          {closedAt === null && suspensionEndsAt !== null && (
            <>
              {' · '}
              {words.t('operator.line_ends')} <Moment words={words} ms={suspensionEndsAt} />
            </>
          )}
        </p>
      </div>
    </li>
  )
}

type BadgesProps = {
  readonly words: Words
  readonly review: Pick<ReviewLine, 'suspended' | 'verdict' | 'closedAt' | 'appealedAt' | 'waitsForSecond'>
}

/** Badges for what needs an operator's attention. */
export function ReviewBadges({ words, review }: BadgesProps) {
  const { suspended, verdict, closedAt, appealedAt, waitsForSecond } = review
  const open = closedAt === null
  return (
    <span class="badges">
      {suspended && <span class="badge danger">{words.t('operator.suspended')}</span>}
      {open && !suspended && <span class="badge warning">{words.t(`operator.verdict_${verdict}`)}</span>}
      {open && waitsForSecond && <span class="badge warning">{words.t('operator.waits')}</span>}
      {open && appealedAt !== null && <span class="badge warning">{words.t('operator.appealed')}</span>}
    </span>
  )
}

/** Reason of the review in one sentence with its figures. */
export function reviewReason(
  words: Words,
  { reason, people, factor }: Pick<ReviewLine, 'reason' | 'people' | 'factor'>,
) {
  if (reason !== 'polling') return words.t(`operator.review_reason_${reason}`, { people })
  return factor === null
    ? words.t('operator.review_reason_polling_only', { people })
    : words.t('operator.review_reason_polling', { people, factor })
}
