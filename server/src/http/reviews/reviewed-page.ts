/** Operators' console: the page of one application, with the forms that came back. */
import type { DeveloperRequest } from '../../core/reviews/queue.ts'
import { waitsForSecond } from '../../core/reviews/review.ts'
import type { Context } from '../../flows/context.ts'
import { readConfirmationProblem } from '../../flows/reviews/decide.ts'
import { readReviewedApplication, type SeenApplication } from '../../flows/reviews/list.ts'
import { isFresh } from '../../flows/sign-in/sessions.ts'
import { operatorApplicationPage } from '../../pages/reviews/application.tsx'
import type { DecisionForm, OperatorApplicationModel, RequestModel } from '../../pages/reviews/application-model.ts'
import { logoAddress } from '../applications/logo.ts'
import type { PageAnswer, UserRequest } from '../web/answer.ts'

export type Given = Pick<DecisionForm, 'decision' | 'reason' | 'words' | 'intervalSeconds' | 'problem'>

const NOTHING: Given = { decision: null, reason: null, words: '', intervalSeconds: '', problem: null }

const NOTICES: readonly OperatorApplicationModel['notice'][] = [
  'decided',
  'waits_for_second',
  'confirmed',
  'withdrawn',
  'approved',
  'declined',
]

/** What comes back with the page: a form that was sent, and a problem. */
type Returned = {
  readonly given?: Given
  readonly answerForm?: OperatorApplicationModel['answerForm']
  readonly problem?: OperatorApplicationModel['problem']
}

export async function reviewedPage(
  context: Context,
  request: UserRequest,
  { given = NOTHING, answerForm = null, problem = null }: Returned,
): Promise<PageAnswer> {
  const { fields, frame, sessionUser, now } = request
  const application = await readReviewedApplication(context, fields.get('application') ?? '')
  if (!application) return { refusal: 'not_found' }
  const { id, seen, requests } = application
  const model: OperatorApplicationModel = {
    ...application,
    requests: requests.map((each) => requestModelOf(id, each)),
    usualIntervalSeconds: context.config.pollIntervalSeconds,
    form: isFresh(context, sessionUser, now) ? { ...given, seen } : null,
    answerForm,
    confirmationProblem: await problemOfConfirming(context, application, sessionUser.id),
    notice: NOTICES.find((each) => each === fields.get('notice')) ?? null,
    problem,
  }
  const wrong = problem !== null || given.problem !== null || answerForm?.wrong
  return { page: operatorApplicationPage(frame, model), status: wrong ? 400 : 200 }
}

/** Of the decision that waits for a second operator, if there is one. */
async function problemOfConfirming(context: Context, { decisions }: SeenApplication, by: string) {
  const waiting = decisions.find(waitsForSecond)
  return waiting ? readConfirmationProblem(context, waiting.id, by) : null
}

function requestModelOf(applicationId: string, request: DeveloperRequest): RequestModel {
  if (request.kind === 'vetting') return request
  const { version, logoVersion, logoVersionNow } = request
  const logoNow = logoAddress(logoVersionNow === null ? null : { applicationId, version: logoVersionNow })
  const proposed = `/operator/application/logo?application=${applicationId}&version=${version}`
  return {
    ...request,
    logoNow,
    logo: logoVersion === null ? null : logoVersion === logoVersionNow ? logoNow : proposed,
  }
}

export function toReviewedPage(
  applicationId: string,
  notice: NonNullable<OperatorApplicationModel['notice']>,
): PageAnswer {
  return { seeOther: `/operator/application?application=${encodeURIComponent(applicationId)}&notice=${notice}` }
}
