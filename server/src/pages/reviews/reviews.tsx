/** Review queue for operators, most harmful first, and the reviews decided before. */

import type { ReviewLine } from '../../core/reviews/review.ts'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { ReviewList } from './line.tsx'

export type OperatorReviewsModel = {
  readonly filter: 'open' | 'closed'
  readonly reviews: readonly ReviewLine[]
  readonly now: number
}

const FILTERS = ['open', 'closed'] as const

export function operatorReviewsPage(frame: Frame, { filter, reviews, now }: OperatorReviewsModel): string {
  const { words } = frame
  return page(
    frame,
    words.t('operator.reviews'),
    <>
      <header class="stack tight">
        <h1>{words.t('operator.reviews')}</h1>
        <p class="soft">{words.t(`operator.reviews_${filter}_text`)}</p>
        <nav aria-label={words.t('operator.filter')}>
          <ul class="tabs">
            {FILTERS.map((each) => (
              <li key={each}>
                <a href={`/operator/reviews?filter=${each}`} aria-current={each === filter ? 'page' : undefined}>
                  {words.t(`operator.filter_${each}`)}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <section class="card stack" aria-label={words.t(`operator.filter_${filter}`)}>
        {reviews.length === 0 ? (
          <p>{words.t(`operator.reviews_${filter}_none`)}</p>
        ) : (
          <ReviewList words={words} reviews={reviews} now={now} />
        )}
      </section>
    </>,
    { wide: true },
  )
}
