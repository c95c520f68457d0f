/**
 * The management API without HTTP: the command line calls its endpoints in its own process. app.ts passes this function
 * to the command line alone; the HTTP server does not import it.
 */
import { COMMAND_LINE_CALLER } from '../../flows/accounts/administrator.ts'
import type { Context } from '../../flows/context.ts'
import { createPathMatcher } from '../path-template.ts'
import type { ApiRequest, Method } from '../route.ts'
import { createRouter } from '../router.ts'
import type { Resource } from './endpoint.ts'
import { describedManagement } from './routes.ts'

const findEndpoint = createPathMatcher(createRouter(describedManagement))

/** `target`: path and query, relative to /manage/1. An empty answer is {}. Throws a Refusal. */
export async function callManagement(
  context: Context,
  method: Method,
  target: string,
  body?: Resource,
): Promise<Resource> {
  const [path = '', query] = target.split('?')
  const matched = findEndpoint(`/manage/1${path}`)
  const endpoint = matched?.found.byMethod.get(method)
  if (!matched || !endpoint) throw new Error(`no endpoint ${method} ${path}`)
  const request: ApiRequest = {
    parameters: () => new Map(new URLSearchParams(query)),
    form: () => new Map(),
    json: () => body ?? null,
    segments: matched.segments,
    header: () => null,
    address: () => null,
    draining: false,
    onDisconnect: () => () => {},
  }
  const answer = await endpoint.perform(context, request, COMMAND_LINE_CALLER)
  return 'json' in answer ? { ...answer.json } : {}
}
