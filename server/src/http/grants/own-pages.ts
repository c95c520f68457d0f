/**
 * CORS wrapper for handlers: lets pages on the application's own redirect origins read the response, refusals included,
 * and no other page. docs/interface.md, "Exchange the code".
 */
import { redirectOrigin } from '../../core/dialog/redirect-uri.ts'
import type { Context } from '../../flows/context.ts'
import type { Answer } from '../answer.ts'
import { answerToError } from '../answer-to-error.ts'
import type { ApiRequest, Handler } from '../route.ts'

/** `named`: the parameter that holds the application's id in this dialect. */
export function readableByOwnPages(named: 'SVCappid' | 'client_id', handler: Handler): Handler {
  return async (context, request) => {
    const origin = request.header('origin')
    if (origin === null) return handler(context, request)
    const answer = await handler(context, request).catch((error: unknown) => answerToError(context, error))
    return { ...answer, ...allowed(context, request, named, origin) }
  }
}

/**
 * Looks up the application in the parameters that the handler itself reads. HTTP Basic is ignored: it carries a secret,
 * and a page should not have one.
 */
function allowed(
  context: Context,
  request: ApiRequest,
  named: 'SVCappid' | 'client_id',
  origin: string,
): Pick<Answer, 'allowOrigin'> {
  try {
    const parameters = named === 'client_id' ? request.form() : request.parameters()
    const application = context.applications.find(parameters.get(named) ?? '')
    return application?.redirectUris.some((uri) => redirectOrigin(uri) === origin) ? { allowOrigin: origin } : {}
  } catch {
    // Unreadable parameters name no application.
    return {}
  }
}
