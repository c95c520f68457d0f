/** Answers that a page of the application itself may read, refusals included, and no other page. docs/interface.md, "Exchange the code". */
import { redirectOrigin } from '../core/redirect-uri.ts'
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import { answerToError } from './answer-to-error.ts'
import type { Handler, Request } from './routes.ts'

export function readableByOwnPages(handler: Handler): Handler {
  return async (context, request) => {
    const origin = request.header('origin')
    if (origin === null) return handler(context, request)
    const answer = await handler(context, request).catch((error: unknown) => answerToError(context, error))
    return { ...answer, ...(await allowed(context, request, origin)) }
  }
}

/** The application as the form names it: a page that authenticates with a header has a secret, and no business having one. */
async function allowed(context: Context, request: Request, origin: string): Promise<Pick<Answer, 'allowOrigin'>> {
  try {
    const parameters = await request.parameters()
    const application = context.applications.find(parameters.get('SVCappid') ?? parameters.get('client_id') ?? '')
    return application?.redirectUris.some((uri) => redirectOrigin(uri) === origin) ? { allowOrigin: origin } : {}
  } catch {
    // What cannot be read names no application.
    return {}
  }
}
