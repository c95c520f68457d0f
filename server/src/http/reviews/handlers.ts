/** Operators' console: the queue, one application with all its evidence, decisions, and answers to requests. */
import { queueKinds, requestKinds } from '../../core/reviews/queue.ts'
import {
  type Decision,
  decisions,
  isValidInterval,
  isValidText,
  type Reason,
  reasons,
} from '../../core/reviews/review.ts'
import type { Context } from '../../flows/context.ts'
import { answerRequest } from '../../flows/reviews/answer-request.ts'
import { confirmDecision, decideReview, withdrawDecision } from '../../flows/reviews/decide.ts'
import { operatorReviewsPage } from '../../pages/reviews/reviews.tsx'
import { PICTURE_TYPE } from '../../pictures/picture.ts'
import { readProposedLogo } from '../../store/applications/proposals.ts'
import { listQueue, queueColumns, usualQueueOrder } from '../../store/reviews/queue.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { type Given, reviewedPage, toReviewedPage } from './reviewed-page.ts'

export const showReviews: PageHandler<UserRequest> = async (context, { fields, now, frame }) => {
  const filter = fields.get('filter') === 'closed' ? 'closed' : 'open'
  const kind = queueKinds.find((each) => each === fields.get('kind')) ?? null
  const wish = readTableWish(fields, queueColumns, usualQueueOrder[filter])
  const queue = await listQueue(context.db, filter, kind, wish)
  return { page: operatorReviewsPage(frame, { filter, kind, wish, queue, now }) }
}

export const showReviewedApplication: PageHandler<UserRequest> = (context, request) =>
  reviewedPage(context, request, {})

export const decide: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const applicationId = fields.get('application') ?? ''
  const given = readDecision(context, request)
  const { decision, reason, words } = given
  if (given.problem !== null || decision === null || reason === null) {
    return reviewedPage(context, request, { given })
  }
  const result = await decideReview(context, sessionUser.id, {
    applicationId,
    seen: fields.get('seen') ?? '',
    decision,
    reason,
    words,
    intervalSeconds: decision === 'reinstate_slower' ? secondsFrom(given.intervalSeconds) : null,
  })
  if (result.outcome === 'decided' || result.outcome === 'waits_for_second')
    return toReviewedPage(applicationId, result.outcome)
  if (result.outcome === 'stale') return reviewedPage(context, request, { given, problem: 'stale' })
  return { refusal: result.outcome === 'unfit' ? 'invalid_request' : result.outcome }
}

function readDecision({ config }: Context, { fields }: UserRequest): Given {
  const decision: Decision | null = decisions.find((each) => each === fields.get('decision')) ?? null
  const reason: Reason | null = reasons.find((each) => each === fields.get('reason')) ?? null
  const words = (fields.get('words') ?? '').replaceAll('\r\n', '\n').trim()
  const intervalSeconds = (fields.get('interval') ?? '').trim()
  const given = { decision, reason, words, intervalSeconds }
  return { ...given, problem: problemOf(given, config.pollIntervalSeconds) }
}

function problemOf(given: Omit<Given, 'problem'>, usualSeconds: number): Given['problem'] {
  const { decision, reason, words, intervalSeconds } = given
  if (decision === null) return 'decision'
  if (decision === 'reinstate_slower' && !isValidInterval(secondsFrom(intervalSeconds), usualSeconds)) return 'interval'
  if (reason === null) return 'reason'
  return isValidText(words) ? null : 'words'
}

function secondsFrom(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null
}

export const confirm: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const { outcome } = await confirmDecision(context, sessionUser.id, fields.get('decision') ?? '')
  if (outcome === 'decided') return toReviewedPage(fields.get('application') ?? '', 'confirmed')
  if (outcome === 'stale' || outcome === 'not_eligible') return reviewedPage(context, request, { problem: outcome })
  return { refusal: outcome }
}

export const withdraw: PageHandler<UserRequest> = async (context, { fields, sessionUser }) => {
  const { outcome } = await withdrawDecision(context, sessionUser.id, fields.get('decision') ?? '')
  return outcome === 'withdrawn' ? toReviewedPage(fields.get('application') ?? '', outcome) : { refusal: outcome }
}

export const answer: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const applicationId = fields.get('application') ?? ''
  const kind = requestKinds.find((each) => each === fields.get('kind'))
  if (!kind) return { refusal: 'not_found' }
  const words = (fields.get('words') ?? '').replaceAll('\r\n', '\n').trim()
  const { outcome } = await answerRequest(context, sessionUser.id, {
    ...{ applicationId, kind, words },
    seen: fields.get('seen') ?? '',
    approve: fields.get('answer') === 'approve',
  })
  if (outcome === 'approved' || outcome === 'declined') return toReviewedPage(applicationId, outcome)
  const answerForm = { kind, words, wrong: outcome === 'no_words' }
  if (outcome === 'no_words') return reviewedPage(context, request, { answerForm })
  if (outcome === 'stale' || outcome === 'taken')
    return reviewedPage(context, request, { answerForm, problem: outcome })
  return { refusal: outcome }
}

export const showProposedLogo: PageHandler<UserRequest> = async (context, { fields }) => {
  const version = fields.get('version') ?? ''
  // Versions are never 0.
  const number = /^\d{1,9}$/.test(version) ? Number(version) : 0
  const bytes = await readProposedLogo(context.db, fields.get('application') ?? '', number)
  return bytes ? { bytes, type: PICTURE_TYPE, lasting: false } : { refusal: 'not_found' }
}
