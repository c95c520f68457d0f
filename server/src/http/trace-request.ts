/** The span of one request: its method, its route, its status, its id. What was asked and who asked is not in it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { propagation, ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api'
import { inSpan } from '../spans.ts'
import type { RequestScope } from './request-scope.ts'

/** Methods that nobody knows are not told on: they are any text that somebody sent. */
const METHODS: readonly (string | undefined)[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function traceRequest(
  request: IncomingMessage,
  response: ServerResponse,
  scope: RequestScope,
  work: () => Promise<void>,
): Promise<void> {
  const method = METHODS.includes(request.method) ? String(request.method) : '_OTHER'
  // A stranger's trace would be one that we cannot see; and whoever could choose to be sampled could make us sample everything.
  const parent = scope.fromProxy ? propagation.extract(ROOT_CONTEXT, request.headers) : ROOT_CONTEXT
  const attributes = { 'http.request.method': method, 'latchkey.request_id': scope.id }
  return inSpan({ name: method, kind: 'server', attributes, parent }, async (span) => {
    await work()
    span.updateName(`${method} ${scope.route}`)
    span.setAttributes({ 'http.route': scope.route, 'http.response.status_code': response.statusCode })
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  })
}
