/** Answers that a page of the application itself may read, refusals included, and no other page. docs/interface.md, "Exchange the code". */
import { redirectOrigin } from '../../core/dialog/redirect-uri.ts'
import type { Context } from '../../flows/context.ts'
import type { Answer } from '../answer.ts'
import { answerToError } from '../answer-to-error.ts'
import type { ApiRequest, Handler } from '../route.ts'

/** `named`: what this dialect calls the application's id. */
export function readableByOwnPages(named: 'SVCappid' | 'client_id', handler: Handler): Handler {
  return async (context, request) => {
    const origin = request.header('origin')
    if (origin === null) return handler(context, request)
    const answer = await handler(context, request).catch((error: unknown) => answerToError(context, error))
    return { ...answer, ...(await allowed(context, request, named, origin)) }
  }
}

/** The application that the handler itself sees. Not by a header: a page that has a secret to put there should not have it. */
async function allowed(
  context: Context,
  request: ApiRequest,
  named: 'SVCappid' | 'client_id',
  origin: string,
): Promise<Pick<Answer, 'allowOrigin'>> {
  try {
    const parameters = await (named === 'client_id' ? request.form() : request.parameters())
    const application = context.applications.find(parameters.get(named) ?? '')
    return application?.redirectUris.some((uri) => redirectOrigin(uri) === origin) ? { allowOrigin: origin } : {}
  } catch {
    // What cannot be read names no application.
    return {}
  }
}
