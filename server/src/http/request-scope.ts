/**
 * Request scope: the id and route of the current request in AsyncLocalStorage, for log lines and audit events. The
 * request itself is not kept here, so that no log line can contain other parts of it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { trace } from '@opentelemetry/api'
import { readAddress } from '../core/network.ts'
import type { About } from '../events.ts'
import { createRequestId } from '../secrets/random.ts'
import { createNetworkCheck } from './client-address.ts'
import { singleHeader } from './header.ts'

export type RequestScope = {
  /** Sent in the response as `x-request-id`. */
  readonly id: string
  /** The path of the matched route, never the requested path, which is client-supplied text. */
  route: string
  /** The peer is one of our own proxies: its `x-request-id` and trace headers are trusted. */
  readonly fromProxy: boolean
  /** Part of the duration that the client asked to wait (`Prefer: wait`). */
  heldMs: number
}

/** No route has matched, or none yet. */
export const NO_ROUTE = 'none'

/** Route label for all static assets, whose paths contain a content hash. */
export const ASSETS = 'assets'

const scopes = new AsyncLocalStorage<RequestScope>()

export function runWithin<T>(scope: RequestScope, work: () => T): T {
  return scopes.run(scope, work)
}

export function readRequestId(): string | null {
  return scopes.getStore()?.id ?? null
}

/** The request's fields of a log line. */
export function aboutRequest(): About {
  const scope = scopes.getStore()
  if (!scope) return {}
  const traceId = trace.getActiveSpan()?.spanContext().traceId
  return { requestId: scope.id, route: scope.route, ...(traceId === undefined ? {} : { traceId }) }
}

/** The request ids of common proxies: nginx sends 32 hex digits, Envoy a UUID, haproxy addresses in hex with colons. */
const REQUEST_ID_FORMAT = /^[A-Za-z0-9_.:-]{1,128}$/

export type ScopeOpener = (request: IncomingMessage) => RequestScope

/** Takes a request id over only from our own proxies: with ids chosen by a client, two requests could look like one. */
export function createScopeOpener(trusted: readonly string[]): ScopeOpener {
  const isProxy = createProxyCheck(trusted)
  return (request) => {
    const fromProxy = isProxy(request.socket)
    const given = fromProxy ? singleHeader(request, 'x-request-id') : null
    return {
      id: given !== null && REQUEST_ID_FORMAT.test(given) ? given : createRequestId(),
      route: NO_ROUTE,
      fromProxy,
      heldMs: 0,
    }
  }
}

/** Caches the result per socket: the peer of a connection does not change. */
function createProxyCheck(trusted: readonly string[]): (socket: Socket) => boolean {
  if (trusted.length === 0) return () => false
  const isWithin = createNetworkCheck(trusted)
  const known = new WeakMap<Socket, boolean>()
  return (socket) => {
    const before = known.get(socket)
    if (before !== undefined) return before
    const address = socket.remoteAddress === undefined ? null : readAddress(socket.remoteAddress)
    const found = address !== null && isWithin(address)
    known.set(socket, found)
    return found
  }
}
