/** The developer console: how an application does. For administrators of the account that registered it. */
import { type RefusalCode, refusals } from '../../core/refusal.ts'
import { type Activity, readActivity } from '../../flows/application-activity.ts'
import { type ActivityLine, applicationActivityPage } from '../../pages/application-activity.tsx'
import { doors } from '../routes.ts'
import type { PageHandler, UserRequest } from './answer.ts'

export const showActivity: PageHandler<UserRequest> = async (context, { account, fields, frame }) => {
  const activity = await readActivity(context, account.id, fields.get('application') ?? '')
  if (!activity) return { refusal: 'not_found' }
  return { page: applicationActivityPage(frame, { ...activity, requests: activity.requests.map(lineOf) }) }
}

/** As it was on the wire: the path that was called, and the refusal in the words of its dialect. */
function lineOf({ at, operation, refusal, message }: Activity['requests'][number]): ActivityLine {
  const door = doors.find((each) => each.operation === operation)
  const path = door?.face === 'interface' ? `/1${door.path}` : (door?.path ?? operation)
  if (refusal === null || !isRefusal(refusal)) return { at, operation: path, refusal, message, mend: null }
  const { standard, message: usual, mend } = refusals[refusal]
  const named = door?.face === 'standard' ? standard : refusal
  return { at, operation: path, refusal: named, message: message ?? usual, mend }
}

/** Rows may be older than the table. */
function isRefusal(text: string): text is RefusalCode {
  return Object.hasOwn(refusals, text)
}
