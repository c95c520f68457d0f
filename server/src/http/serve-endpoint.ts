/** Server of the routes for programs: reads the request, calls the handler, writes its answer in the path's format. */
import type { IncomingMessage } from 'node:http'
import type { Context } from '../flows/context.ts'
import type { Answer, Format } from './answer.ts'
import { answerToError } from './answer-to-error.ts'
import type { AddressReader } from './client-address.ts'
import { MAX_BODY_BYTES } from './form.ts'
import { singleHeader } from './header.ts'
import { parseJson } from './json-body.ts'
import { noteRequest } from './note-request.ts'
import { MAX_PARAMETERS, readParameters } from './parameters.ts'
import type { Endpoint, Segments } from './route.ts'
import { type FormRules, type PathRoutes, receive } from './router.ts'

const RULES: FormRules = {
  origin: null,
  query: true,
  bodyOfGet: true,
  json: false,
  maxBytes: MAX_BODY_BYTES,
  maxFields: MAX_PARAMETERS,
  file: null,
}
const JSON_RULES: FormRules = { ...RULES, bodyOfGet: false, json: true, maxBytes: 256 * 1024 }
const isJson = ({ dialect }: Endpoint) => dialect === 'manage' || dialect === 'scim'
const rules = (route: Endpoint) => (isJson(route) ? JSON_RULES : RULES)

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

export function createEndpointServer(context: Context, addressOf: AddressReader): EndpointServer {
  return async (request, found, segments, query, draining, send) => {
    const received = await receive(request, found, query, rules)
    // No endpoint restricts the origin, so the method is the only reason.
    if ('refusal' in received) return send({ refusal: 'method_not_allowed', allow: found.allow })
    const { route, form } = received
    const asked = {
      parameters: () => readParameters(query, isJson(route) ? undefined : form),
      form: () => readParameters('', form),
      json: () => parseJson(form),
      segments,
      header: (name: string) => singleHeader(request, name),
      address: () => addressOf(request.socket.remoteAddress, singleHeader(request, 'x-forwarded-for')),
      draining,
      onDisconnect: (callback: () => void) => {
        const { socket } = request
        if (socket.destroyed) callback()
        socket.once('close', callback)
        return () => void socket.off('close', callback)
      },
    }
    const answer = await route.handler(context, asked).catch((error: unknown) => answerToError(context, error))
    send(answer)
    noteRequest(context, route, asked, query.includes('secret'), answer)
  }
}
