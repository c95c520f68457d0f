/** Span of one request: method, route, status and request id. Parameters and the client's identity are not recorded. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { propagation, ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api'
import { inSpan } from '../spans.ts'
import type { RequestScope } from './request-scope.ts'

/** Other methods are reported as `_OTHER` (OTel semconv): the raw value is attacker-controlled. */
const METHODS: readonly (string | undefined)[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function traceRequest(
  request: IncomingMessage,
  response: ServerResponse,
  scope: RequestScope,
  work: () => Promise<void>,
): Promise<void> {
  const method = METHODS.includes(request.method) ? String(request.method) : '_OTHER'
  // Trace context is taken over only from our own proxies. A client's trace would lead to a system we cannot see, and
  // its sampled flag would let it force sampling of every request.
  const parent = scope.fromProxy ? propagation.extract(ROOT_CONTEXT, request.headers) : ROOT_CONTEXT
  const attributes = { 'http.request.method': method, 'latchkey.request_id': scope.id }
  return inSpan({ name: method, kind: 'server', attributes, parent }, async (span) => {
    await work()
    span.updateName(`${method} ${scope.route}`)
    span.setAttributes({ 'http.route': scope.route, 'http.response.status_code': response.statusCode })
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  })
}
