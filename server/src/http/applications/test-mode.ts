/** Developer console: test mode of an application. */
import { endTestMode, startTestMode } from '../../flows/applications/test-mode.ts'
import { testSecretPage } from '../../pages/applications/test-mode.tsx'
import { readOwnApplication } from '../../store/applications/own.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { applicationPage, samplesOf } from './handlers.ts'

export const switchTestModeOn: PageHandler<UserRequest> = async (context, request) => {
  const { sessionUser, account, fields, frame } = request
  const id = fields.get('application') ?? ''
  const result = await startTestMode(context, sessionUser.id, id)
  if (result.outcome === 'already_on') return applicationPage(context, request, 'test_mode_on')
  if (result.outcome !== 'started') return { refusal: result.outcome }
  const application = await readOwnApplication(context.db, account.id, id)
  if (!application) return { refusal: 'not_found' }
  const { name, public: isPublic } = application
  const { secret, endsAt } = result
  const samples = samplesOf(context, application)
  return { page: testSecretPage(frame, { id, name, secret, endsAt, public: isPublic, samples }) }
}

export const switchTestModeOff: PageHandler<UserRequest> = async (context, { sessionUser, fields }) => {
  const id = fields.get('application') ?? ''
  const { outcome } = await endTestMode(context, sessionUser.id, id)
  if (outcome !== 'ended') return { refusal: outcome }
  return { seeOther: `/developer/application?application=${id}&notice=test_mode_off` }
}
