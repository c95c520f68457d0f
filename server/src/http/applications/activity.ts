/**
 * Developer console: an application's activity, and the appeal against a suspension. For administrators of its account.
 */
import { type RefusalCode, refusals } from '../../core/refusal.ts'
import { MAX_WORDS_LENGTH } from '../../core/reviews/review.ts'
import { type Activity, readActivity } from '../../flows/applications/activity.ts'
import type { Context } from '../../flows/context.ts'
import { appeal } from '../../flows/reviews/appeal.ts'
import { type ActivityLine, applicationActivityPage } from '../../pages/applications/activity.tsx'
import type { SuspensionModel } from '../../pages/applications/suspension.tsx'
import { endpoints } from '../routes.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

export const showActivity: PageHandler<UserRequest> = (context, request) => activityPage(context, request, null)

export const sendAppeal: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, fields } = request
  const id = fields.get('application') ?? ''
  const { outcome } = await appeal(context, sessionUser.id, id, wordsOf(request))
  if (outcome === 'unfit') return activityPage(context, request, 'words')
  if (outcome === 'not_suspended') return activityPage(context, request, 'not_suspended')
  if (outcome !== 'appealed') return { refusal: outcome }
  return { seeOther: `/developer/application/activity?application=${id}` }
}

/** Browsers send a line break as CRLF; it counts as one character, as it did while typing. */
function wordsOf({ fields }: UserRequest): string {
  return (fields.get('words') ?? '').replace(/\r\n?/g, '\n')
}

async function activityPage(
  context: Context,
  request: UserRequest,
  problem: SuspensionModel['problem'],
): Promise<PageAnswer> {
  const { account, fields, frame } = request
  const activity = await readActivity(context, account.id, fields.get('application') ?? '')
  if (!activity) return { refusal: 'not_found' }
  const words = problem === null ? '' : wordsOf(request)
  const suspension = { ...activity.suspension, problem, words, maxWords: MAX_WORDS_LENGTH }
  const model = { ...activity, requests: activity.requests.map(lineOf), suspension }
  return { page: applicationActivityPage(frame, model), status: problem === null ? 200 : 400 }
}

/** The request as the client saw it: the path it called, and the error code of that dialect. */
function lineOf({ at, operation, refusal, message }: Activity['requests'][number]): ActivityLine {
  const route = endpoints.find((each) => each.operation.id === operation)
  const path = route?.dialect === 'interface' ? `/1${route.path}` : (route?.path ?? operation)
  if (refusal === null || !isRefusal(refusal)) return { at, operation: path, refusal, message, remedy: null }
  const { standard, message: usual, remedy } = refusals[refusal]
  const named = route?.dialect === 'standard' ? standard : refusal
  return { at, operation: path, refusal: named, message: message ?? usual, remedy }
}

/** Stored rows may hold codes that are no longer in the table. */
function isRefusal(text: string): text is RefusalCode {
  return Object.hasOwn(refusals, text)
}
