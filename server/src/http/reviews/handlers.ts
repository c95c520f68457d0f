/** Operators' console: the review queue, one application with all its evidence, and the operators' decisions. */
import {
  type Decision,
  decisions,
  isValidInterval,
  isValidText,
  type Reason,
  reasons,
  waitsForSecond,
} from '../../core/reviews/review.ts'
import type { Context } from '../../flows/context.ts'
import { confirmDecision, decideReview, readConfirmationProblem, withdrawDecision } from '../../flows/reviews/decide.ts'
import {
  listReviews,
  readReviewedApplication,
  type SeenApplication,
  usualReviewOrder,
} from '../../flows/reviews/list.ts'
import { isFresh } from '../../flows/sign-in/sessions.ts'
import { operatorApplicationPage } from '../../pages/reviews/application.tsx'
import type { OperatorApplicationModel } from '../../pages/reviews/application-model.ts'
import type { DecisionForm } from '../../pages/reviews/decision-form.ts'
import { operatorReviewsPage } from '../../pages/reviews/reviews.tsx'
import { reviewColumns } from '../../store/reviews/reviews.ts'
import { readTableWish } from '../table-wish.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

export const showReviews: PageHandler<UserRequest> = async (context, { fields, now, frame }) => {
  const filter = fields.get('filter') === 'closed' ? 'closed' : 'open'
  const wish = readTableWish(fields, reviewColumns, usualReviewOrder[filter])
  const reviews = await listReviews(context, filter, wish)
  return { page: operatorReviewsPage(frame, { filter, wish, reviews, now }) }
}

const NOTICES: readonly OperatorApplicationModel['notice'][] = ['decided', 'waits_for_second', 'confirmed', 'withdrawn']

export const showReviewedApplication: PageHandler<UserRequest> = (context, request) =>
  reviewedPage(context, request, null, null)

type Given = Pick<DecisionForm, 'decision' | 'reason' | 'words' | 'intervalSeconds' | 'problem'>

const NOTHING: Given = { decision: null, reason: null, words: '', intervalSeconds: '', problem: null }

export const decide: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const applicationId = fields.get('application') ?? ''
  const given = readDecision(context, request)
  const { decision, reason, words } = given
  if (given.problem !== null || decision === null || reason === null) {
    return reviewedPage(context, request, given, null)
  }
  const result = await decideReview(context, sessionUser.id, {
    applicationId,
    reviewId: fields.get('review') || null,
    seen: fields.get('seen') ?? '',
    decision,
    reason,
    words,
    intervalSeconds: decision === 'reinstate_slower' ? secondsFrom(given.intervalSeconds) : null,
  })
  if (result.outcome === 'decided' || result.outcome === 'waits_for_second')
    return toPage(applicationId, result.outcome)
  if (result.outcome === 'stale') return reviewedPage(context, request, given, 'stale')
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
  if (outcome === 'decided') return toPage(fields.get('application') ?? '', 'confirmed')
  if (outcome === 'stale' || outcome === 'not_eligible') return reviewedPage(context, request, null, outcome)
  return { refusal: outcome }
}

export const withdraw: PageHandler<UserRequest> = async (context, { fields, sessionUser }) => {
  const { outcome } = await withdrawDecision(context, sessionUser.id, fields.get('decision') ?? '')
  return outcome === 'withdrawn' ? toPage(fields.get('application') ?? '', outcome) : { refusal: outcome }
}

function toPage(applicationId: string, notice: NonNullable<OperatorApplicationModel['notice']>): PageAnswer {
  return { seeOther: `/operator/application?application=${encodeURIComponent(applicationId)}&notice=${notice}` }
}

async function reviewedPage(
  context: Context,
  request: UserRequest,
  given: Given | null,
  problem: OperatorApplicationModel['problem'],
): Promise<PageAnswer> {
  const { fields, frame, sessionUser, now } = request
  const application = await readReviewedApplication(context, fields.get('application') ?? '')
  if (!application) return { refusal: 'not_found' }
  const { seen, review } = application
  const reviewId = review !== null && review.closedAt === null ? review.id : ''
  const form = isFresh(context, sessionUser, now) ? { ...(given ?? NOTHING), reviewId, seen } : null
  const model: OperatorApplicationModel = {
    ...application,
    usualIntervalSeconds: context.config.pollIntervalSeconds,
    form,
    confirmationProblem: await problemOfConfirming(context, application, sessionUser.id),
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
    problem,
  }
  const wrong = problem !== null || (given !== null && given.problem !== null)
  return { page: operatorApplicationPage(frame, model), status: wrong ? 400 : 200 }
}

/** Of the decision that waits for a second operator, if there is one. */
async function problemOfConfirming(context: Context, { decisions }: SeenApplication, by: string) {
  const waiting = decisions.find(waitsForSecond)
  return waiting ? readConfirmationProblem(context, waiting.id, by) : null
}
