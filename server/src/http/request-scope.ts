/**
 * On whose behalf something is done: the id and the route of the request, for whatever is logged on the way. Nothing else of a request
 * is kept here, so nothing else can be logged.
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
  /** The answer carries it as `x-request-id`. */
  readonly id: string
  /** The route's path, never what was asked for: somebody's text may be in that. */
  route: string
  /** The peer is a proxy of our own: what it says about the request is believed. */
  readonly fromProxy: boolean
}

/** No route matched, or not yet. */
export const NO_ROUTE = 'none'

/** The stylesheet, the script and their like, under whatever name they have today. */
export const ASSETS = 'assets'

const scopes = new AsyncLocalStorage<RequestScope>()

export function runWithin<T>(scope: RequestScope, work: () => T): T {
  return scopes.run(scope, work)
}

/** What a line of the log says about the request that it is written for. */
export function aboutRequest(): About {
  const scope = scopes.getStore()
  if (!scope) return {}
  const traceId = trace.getActiveSpan()?.spanContext().traceId
  return { requestId: scope.id, route: scope.route, ...(traceId === undefined ? {} : { traceId }) }
}

/** What balancers and proxies make: nginx 32 digits, Envoy a UUID, haproxy addresses in hex with colons. */
const HARMLESS = /^[A-Za-z0-9_.:-]{1,128}$/

export type ScopeOpener = (request: IncomingMessage) => RequestScope

/** Only a proxy of our own may say what a request is called: with a stranger's ids, two requests could look like one. */
export function createScopeOpener(trusted: readonly string[]): ScopeOpener {
  const isProxy = createProxyCheck(trusted)
  return (request) => {
    const fromProxy = isProxy(request.socket)
    const given = fromProxy ? singleHeader(request, 'x-request-id') : null
    return { id: given !== null && HARMLESS.test(given) ? given : createRequestId(), route: NO_ROUTE, fromProxy }
  }
}

/** A connection comes from one place for as long as it is open. */
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
