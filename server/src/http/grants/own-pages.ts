/**
 * CORS wrapper for handlers: lets pages on the application's own redirect origins read the response, refusals included,
 * and no other page. docs/interface/dialog.md, "Exchange the code".
 */
import { redirectOrigin } from '../../core/dialog/redirect-uri.ts'
import type { Context } from '../../flows/context.ts'
import type { Answer } from '../answer.ts'
import { answerToError } from '../answer-to-error.ts'
import type { ApiRequest, Handler } from '../route.ts'
import { claimedApplication } from './application-fields.ts'

export function readableByOwnPages(dialect: 'interface' | 'standard', handler: Handler): Handler {
  return async (context, request) => {
    const origin = request.header('origin')
    if (origin === null) return handler(context, request)
    const answer = await handler(context, request).catch((error: unknown) => answerToError(context, error))
    return { ...answer, ...allowed(context, request, dialect, origin) }
  }
}

/**
 * Looks up the application in the parameters that the handler itself reads. HTTP Basic is ignored: it carries a secret,
 * and a page should not have one.
 */
function allowed(
  context: Context,
  request: ApiRequest,
  dialect: 'interface' | 'standard',
  origin: string,
): Pick<Answer, 'allowOrigin'> {
  try {
    const id =
      dialect === 'standard' ? request.form().get('client_id') : claimedApplication(request.parameters()).applicationId
    const application = context.applications.find(id ?? '')
    return application?.redirectUris.some((uri) => redirectOrigin(uri) === origin) ? { allowOrigin: origin } : {}
  } catch {
    // Unreadable parameters name no application.
    return {}
  }
}
