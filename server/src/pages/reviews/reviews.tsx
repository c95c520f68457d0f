/** Review queue for operators, and the reviews decided before. */

import type { ReviewLine } from '../../core/reviews/review.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { accountHref } from '../operator/hrefs.ts'
import { KeyList, Moment } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Table, TableSearch, Tabs } from '../ui/table.tsx'
import type { Words } from '../ui/words.ts'
import { operatorHref, ReviewBadges, reviewReason } from './line.tsx'

export type OperatorReviewsModel = {
  readonly filter: 'open' | 'closed'
  readonly wish: TableWish<'name' | 'harm' | 'opened' | 'closed'>
  readonly reviews: TablePage<ReviewLine>
  readonly now: number
}

const FILTERS = ['open', 'closed'] as const

export function operatorReviewsPage(frame: Frame, model: OperatorReviewsModel): string {
  const { words } = frame
  const { filter, wish } = model
  const path = '/operator/reviews'
  return page(
    frame,
    words.t('operator.reviews'),
    <>
      <header class="stack tight">
        <h1>{words.t('operator.reviews')}</h1>
        <p class="soft">{words.t(`operator.reviews_${filter}_text`)}</p>
        <Tabs
          label={words.t('operator.filter')}
          tabs={FILTERS.map((each) => ({ href: `${path}?filter=${each}`, text: words.t(`operator.filter_${each}`) }))}
          current={FILTERS.indexOf(filter)}
        />
        <TableSearch
          words={words}
          place={{ path, wish, kept: { filter } }}
          label={words.t('operator.applications_search')}
          hint={words.t('operator.applications_search_hint')}
        />
      </header>
      <section class="card stack" aria-label={words.t(`operator.filter_${filter}`)}>
        <KeyList>
          <ReviewTable words={words} model={model} />
        </KeyList>
      </section>
    </>,
    { wide: true },
  )
}

type TableProps = { readonly words: Words; readonly model: OperatorReviewsModel }

function ReviewTable({ words, model: { filter, wish, reviews, now } }: TableProps) {
  return (
    <Table
      words={words}
      label={words.t('operator.reviews')}
      place={{ path: '/operator/reviews', wish, kept: { filter } }}
      columns={[
        { title: words.t('audit.application'), sort: 'name' },
        { title: words.t('operator.account') },
        { title: words.t('operator.impact'), sort: 'harm' },
        { title: words.t('operator.status') },
        filter === 'open'
          ? { title: words.t('operator.opened'), sort: 'opened' }
          : { title: words.t('operator.closed'), sort: 'closed' },
      ]}
      page={reviews}
      keyOf={({ id }) => id}
      cellsOf={(review) => [
        <a href={operatorHref(review.applicationId)}>
          <bdi>{review.application}</bdi>
        </a>,
        <a href={accountHref(review.account)}>
          <bdi>{review.account}</bdi>
        </a>,
        reviewReason(words, review),
        <Status words={words} review={review} now={now} />,
        review.closedAt === null ? words.ago(now - review.openedAt) : <Moment words={words} ms={review.closedAt} />,
      ]}
      none={words.t(wish.search === '' ? `operator.reviews_${filter}_none` : 'operator.none_found')}
    />
  )
}

type StatusProps = { readonly words: Words; readonly review: ReviewLine; readonly now: number }

/** Badges, and below them since when the suspension waits for a decision, and when it ends without one. */
function Status({ words, review, now }: StatusProps) {
  const { closedAt, waitingSince, suspensionEndsAt } = review
  return (
    <>
      <ReviewBadges words={words} review={review} />
      {waitingSince !== null && <p class="hint">{words.ago(now - waitingSince)}</p>}
      {closedAt === null && suspensionEndsAt !== null && (
        <p class="hint">
          {words.t('operator.line_ends')} <Moment words={words} ms={suspensionEndsAt} />
        </p>
      )}
    </>
  )
}
