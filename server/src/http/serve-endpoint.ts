/** Server of the routes for programs: reads the request, calls the handler, writes its answer in the path's format. */
import type { IncomingMessage } from 'node:http'
import type { Context } from '../flows/context.ts'
import type { Answer, Format } from './answer.ts'
import { answerToError } from './answer-to-error.ts'
import type { RequestAddressReader } from './client-address.ts'
import { MAX_BODY_BYTES } from './form.ts'
import { singleHeader } from './header.ts'
import { parseJson } from './json-body.ts'
import { MAX_PARAMETERS, type ParameterRules, readParameters } from './parameters.ts'
import { recordRequest } from './record-request.ts'
import type { ApiRequest, Endpoint, Segments } from './route.ts'
import { type FormRules, type PathRoutes, receive } from './router.ts'
import { isRead } from './schema.ts'

const RULES: FormRules = {
  origin: null,
  query: true,
  bodyOfGet: true,
  json: false,
  maxBytes: MAX_BODY_BYTES,
  maxMultipartBytes: MAX_BODY_BYTES,
  maxFields: MAX_PARAMETERS,
  file: null,
}
const JSON_RULES: FormRules = { ...RULES, bodyOfGet: false, json: true, maxBytes: 256 * 1024 }
const WITHOUT_BODY: FormRules = { ...RULES, bodyOfGet: false }
const isJson = ({ dialect }: Endpoint) => dialect === 'manage' || dialect === 'scim'
const rules = (route: Endpoint) => (isJson(route) ? JSON_RULES : route.everyMethod ? WITHOUT_BODY : RULES)

/** The path alone determines the format of the response, refusals included. */
export function formatOf(path: string): Format {
  if (path.startsWith('/manage/')) return 'manage'
  if (path.startsWith('/scim/')) return 'scim'
  if (path.endsWith('.xml')) return 'xml'
  return path.startsWith('/oauth/') || path.startsWith('/.well-known/') ? 'standard' : 'json'
}

/** Throws a Refusal if the body cannot be read. `send` writes the response. */
export type EndpointServer = (
  request: IncomingMessage,
  found: PathRoutes<Endpoint>,
  segments: Segments,
  query: string,
  draining: boolean,
  send: (answer: Answer) => void,
) => Promise<void>

export function createEndpointServer(context: Context, addressOf: RequestAddressReader): EndpointServer {
  return async (request, found, segments, query, draining, send) => {
    if (isPreflight(request, found)) return send(preflight(found))
    const received = receive(request, found, query, rules)
    // No endpoint restricts the origin, so the method is the only reason.
    if ('refusal' in received) {
      const message = `The method is not allowed for this path. Use ${found.allow.replace(/, (\w+)$/, ' or $1')}.`
      return send({ refusal: 'method_not_allowed', message, allow: found.allow })
    }
    const { route } = received
    // A verification has no body, and is faster without the promise.
    const form = received.form && (await received.form)
    const repeats = { isRead: isReadBy(route) }
    const asked: ApiRequest = {
      parameters: () => readParameters(query, isJson(route) ? undefined : form, repeats),
      form: () => readParameters('', form, repeats),
      json: () => parseJson(form),
      segments,
      header: (name: string) => singleHeader(request, name),
      address: () => addressOf(request),
      draining,
      onDisconnect: (callback: () => void) => {
        const { socket } = request
        if (socket.destroyed) callback()
        socket.once('close', callback)
        return () => void socket.off('close', callback)
      },
    }
    const readQuery = query.includes('secret') ? () => readParameters(query, undefined, repeats) : null
    const answer = await route.handler(context, asked).catch((error: unknown) => answerToError(context, error))
    send(answer)
    recordRequest(context, route, asked, readQuery, answer)
  }
}

/** In the standard dialect only: its clients run in pages as well. The native one is called without a preflight. */
function isPreflight({ method, headers }: IncomingMessage, { byMethod }: PathRoutes<Endpoint>): boolean {
  if (method !== 'OPTIONS' || headers.origin === undefined) return false
  if (headers['access-control-request-method'] === undefined) return false
  return byMethod.values().next().value?.dialect === 'standard'
}

/**
 * A preflight does not say which application asks, so it allows every origin, without credentials. Which pages may read
 * the answer depends on the answer (grants/own-pages.ts).
 */
const preflight = ({ allow }: PathRoutes<Endpoint>): Answer => ({
  status: 200,
  headers: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': allow,
    'access-control-allow-headers': 'authorization, content-type, idempotency-key, prefer, mcp-protocol-version',
    'access-control-max-age': '86400',
  },
})

/** Null: no parameter may be repeated, as RFC 6749, section 3.1, requires, and as is safer where a gateway asks. */
function isReadBy({ dialect, operation: { form } }: Endpoint): ParameterRules['isRead'] {
  return dialect === 'interface' && form ? (name) => isRead(form, name) : null
}
