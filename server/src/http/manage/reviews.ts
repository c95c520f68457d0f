/** Reviews of applications in the management API: read only, because operators decide about them. */
import { type ReviewLine, reviewReasons } from '../../core/reviews/review.ts'
import { listReviews as list } from '../../flows/reviews/list.ts'
import type { QueueState } from '../../store/reviews/queue.ts'
import { type Body, boolean, nullable, oneOf, optional, text } from '../schema.ts'
import { endpoint, type Resource } from './endpoint.ts'
import { listBody, moment, momentField, pageOf, pageQuery, readFilter, readPage } from './paging.ts'

const reviewBody: Body = {
  name: 'Review',
  description: 'A review of an application.',
  properties: {
    id: text('The id.', { examples: ['rev_k3v9m2x7q4tz'] }),
    application_id: text('The application.'),
    application_name: text('The application’s name.'),
    account: text('Slug of the account that registered it.'),
    reason: oneOf(
      reviewReasons,
      'Why it was opened. `early_polls`: anybody who has the secret of the application can cause it.',
    ),
    verdict: oneOf(['fine', 'observe', 'warn', 'review', 'suspend'], 'What the rule says of the evidence.'),
    suspended: boolean('The application is suspended now.'),
    opened_at: momentField('When it was opened.'),
    appealed_at: nullable(momentField('When the account appealed.')),
    closed_at: nullable(momentField('When it was closed.')),
  },
}

const REVIEW_ID = /^rev_[0-9a-z]{12}$/

function renderReview(review: ReviewLine): Resource {
  const { id, applicationId, application, account, reason, verdict, suspended } = review
  return {
    ...{ id, application_id: applicationId, application_name: application, account, reason, verdict, suspended },
    opened_at: moment(review.openedAt),
    appealed_at: moment(review.appealedAt),
    closed_at: moment(review.closedAt),
  }
}

export const listReviews = endpoint({
  method: 'GET',
  path: '/manage/1/reviews',
  scope: 'reviews:read',
  operation: {
    id: 'listReviews',
    tag: 'Reviews',
    summary: 'List reviews',
    description: 'Oldest first. Only a key of the service can read them.',
    query: { ...pageQuery, state: optional(oneOf(['open', 'closed'], 'Absent: open ones.')) },
    answers: { 200: { description: 'A page of reviews.', body: listBody(reviewBody) } },
  },
  handle: async ({ context, request }) => {
    const state: QueueState = readFilter(request, 'state') === 'closed' ? 'closed' : 'open'
    const wish = { ...readPage(request, REVIEW_ID), search: '', sort: 'opened', descending: false } as const
    const { lines, after } = await list(context, state, wish)
    return pageOf(lines.map(renderReview), after)
  },
})
