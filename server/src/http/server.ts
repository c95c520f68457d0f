/**
 * HTTP server on node:http: serves the program routes of routes.ts, and the pages of the base host and of account hosts
 * (docs/decisions/0010-no-web-framework.md).
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { Refusal, type RefusalCode, refusals } from '../core/refusal.ts'
import { accountOrigin } from '../flows/accounts/address.ts'
import type { Context } from '../flows/context.ts'
import { findAsset } from '../pages/ui/assets.ts'
import { createRequestId } from '../secrets/random.ts'
import type { Answer, Format } from './answer.ts'
import { answerToError } from './answer-to-error.ts'
import { createAddressReader } from './client-address.ts'
import { singleHeader } from './header.ts'
import { createHostReader } from './hosts.ts'
import { createPathMatcher } from './path-template.ts'
import { ASSETS, createScopeOpener, NO_ROUTE, type RequestScope, runWithin } from './request-scope.ts'
import { respond, write } from './respond.ts'
import { pathsOf } from './route.ts'
import { createRouter } from './router.ts'
import { basePages, everyEndpoint, routes } from './routes.ts'
import { type SecurityHeaders, securityHeaders } from './security-headers.ts'
import { createEndpointServer, formatOf } from './serve-endpoint.ts'
import { traceRequest } from './trace-request.ts'
import { pageRoutes } from './web/account-routes.ts'
import { respondAsset } from './web/respond.ts'
import { createAccountServer } from './web/serve-account.ts'
import { createBaseServer } from './web/serve-base.ts'

/**
 * Devices poll every few seconds over the same connection. Node's default of five seconds would close it at about the
 * moment of the next poll; 75 seconds also exceed the idle timeout of common load balancers, so that the server is
 * never the first to close.
 */
const KEEP_ALIVE_MS = 75_000

/** From the first byte of a request to its last. No accepted request takes a client longer. */
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Socket inactivity timeout while a request or a response is in progress. A client that has not read its response by
 * then will not, and the buffered response occupies memory.
 */
const SOCKET_TIMEOUT_MS = 30_000

/**
 * Limit of pipelined requests per connection, waiting behind the response to an earlier one. Today's clients do not
 * pipeline; a client that sends many requests and reads no responses would make the responses accumulate in memory.
 */
const MAX_PIPELINED = 8

/**
 * Above it Node warns of a leak, on the standard error. Every held poll of a connection listens for its end: the first
 * one and those behind it, besides the listeners that Node's limit of ten is for.
 */
const MAX_SOCKET_LISTENERS = 10 + 1 + MAX_PIPELINED

/** Time limit for running requests once the listener is closing; remaining connections are then closed. */
const CLOSE_TIMEOUT_MS = 10_000

export type HttpServer = {
  listen(host: string, port: number): Promise<string>
  /**
   * Closes the connection after every response, so that clients move elsewhere one by one. `stop`: fails /health/ready,
   * so that load balancers notice. `replace`: accepts no more connections, because another process has the same socket.
   */
  drain(how: 'stop' | 'replace'): void
  /** Waits for running requests and for the work that follows their responses. */
  close(): Promise<void>
}

/** The base host has endpoints and pages, every account's host has the same pages. */
const endpointRouter = createRouter(everyEndpoint, pathsOf)
const findEndpoint = createPathMatcher(endpointRouter)
const basePageRouter = createRouter(basePages, pathsOf)
const accountPageRouter = createRouter(pageRoutes)

/** All values of the route label in metrics. */
export const everyRoute: readonly string[] = [
  ...new Set([NO_ROUTE, ASSETS, ...[...routes, ...everyEndpoint, ...pageRoutes].map(({ path }) => path)]),
]

/** `traced`: an exporter receives spans. Otherwise none are created. */
export function createHttpServer(context: Context, traced: boolean): HttpServer {
  const { requests } = context.counts
  const openScope = createScopeOpener(context.config.trustProxy)
  const addressBehindProxy = createAddressReader(context.config.trustProxy)
  const addressOf = (request: IncomingMessage) =>
    addressBehindProxy(request.socket.remoteAddress, singleHeader(request, 'x-forwarded-for'))
  const slugOf = createHostReader(context.config.publicUrl)
  const security = securityHeaders(context.config.publicUrl)
  const afterwards = new Set<Promise<void>>()
  let draining = false
  /** Draining, and not ready for load balancers. */
  let stopping = false

  /** Tracks work after a response. A rejection is logged: it must neither end the process nor keep it from closing. */
  const track = (work: Promise<void>) => {
    const caught = work
      .catch((error) => context.events.unexpected('delivery', error))
      .finally(() => afterwards.delete(caught))
    afterwards.add(caught)
  }
  const answer = (response: ServerResponse, scope: RequestScope, format: Format, given: Answer) => {
    scope.heldMs += given.held?.ms ?? 0
    if (draining) response.setHeader('connection', 'close')
    const after = respond(response, scope.id, format, given, security)
    if (!after) return
    requests.leased(1)
    track(after.finally(() => requests.leased(-1)))
  }
  const serveEndpoint = createEndpointServer(context, addressOf)
  const serveAccount = createAccountServer(context, addressOf, track)
  const serveBase = createBaseServer(context, addressOf)

  const serve = async (request: IncomingMessage, response: ServerResponse, scope: RequestScope): Promise<void> => {
    const startedAt = performance.now()
    requests.began()
    let format: Format = 'json'
    try {
      if (hasNoHost(request)) throw new Refusal('invalid_request')
      const slug = slugOf(request)
      const { path, query } = removeQuery(request)
      const endpoint = findEndpoint(path)
      if (endpoint && slug === null) {
        const { found, segments } = endpoint
        scope.route = found.path
        format = formatOf(path)
        return await serveEndpoint(request, found, segments, query, stopping, (given) =>
          answer(response, scope, format, given),
        )
      }
      if (draining) response.setHeader('connection', 'close')
      const asset = path === context.serviceLogo?.path ? context.serviceLogo : findAsset(path)
      if (asset) {
        scope.route = ASSETS
        return respondAsset(request, response, asset, scope.id, security)
      }
      if (slug !== null) {
        const found = accountPageRouter.get(path)
        if (endpoint && !found) {
          format = formatOf(path)
          throw new Refusal('misdirected', `The API is served only at ${context.config.publicUrl}.`)
        }
        scope.route = found?.path ?? NO_ROUTE
        return await serveAccount(request, response, { requestId: scope.id, slug, path, query, found })
      }
      const found = path === '/' && !acceptsPage(request) ? undefined : basePageRouter.get(path)
      if (found) {
        scope.route = found.path
        return await serveBase(request, response, { requestId: scope.id, path, query, found })
      }
      format = formatOf(path)
      if (!isOnAccountHosts(path)) throw notFound(path, format)
      const example = accountOrigin(context, 'acme') + path
      throw new Refusal('misdirected', `This page is served only on the subdomain of an account, such as ${example}`)
    } catch (error) {
      answer(response, scope, format, answerToError(context, error))
    } finally {
      const ms = performance.now() - startedAt - scope.heldMs
      requests.ended(scope.route, response.statusCode, ms / 1000)
      context.events.answered?.({ method: request.method ?? '', status: response.statusCode, ms })
    }
  }

  const receive = (request: IncomingMessage, response: ServerResponse) => {
    // A response without a socket is pipelined: it waits behind an earlier response on the connection.
    if (response.socket === null && exceedsPipelineLimit(request.socket, response)) return void request.socket.destroy()
    const scope = openScope(request)
    const work = () => serve(request, response, scope)
    return runWithin(scope, traced ? () => traceRequest(request, response, scope, work) : work)
  }

  const settings = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS, requireHostHeader: false }
  const server = createServer(settings, receive)
  const closed = new Promise((resolve) => server.once('close', resolve))
  server.setTimeout(SOCKET_TIMEOUT_MS)
  server.on('connection', (socket: Socket) => socket.setMaxListeners(MAX_SOCKET_LISTENERS))
  // Node would handle these two events with responses of its own. An unknown expectation may be ignored (RFC 9110,
  // section 10.1.1).
  server.on('checkExpectation', receive)
  server.on('clientError', (error, socket) => refuseBrokenRequest(error, socket as Socket, security, requests.broken))

  return {
    listen: async (host, port) => {
      server.listen(port, host === '' ? undefined : host)
      await once(server, 'listening')
      const bound = server.address() as AddressInfo
      return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`
    },
    drain: (how) => {
      draining = true
      stopping = how === 'stop'
      // Not http.Server's own: it would also close idle connections, on which a request may be on its way.
      if (how === 'replace') NetServer.prototype.close.call(server)
    },
    close: async () => {
      // Node stops enforcing its own timeouts once it closes; a stalled client must not block shutdown for ever.
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      if (server.listening) await drainAcceptBacklog(server)
      server.close()
      await closed
      clearTimeout(timer)
      await Promise.all(afterwards)
    },
  }
}

/** Limit in event-loop turns; enough to accept the whole kernel backlog one connection at a time. */
const MAX_TURNS = 1_000

/**
 * Drains the accept backlog. Connections accepted by the kernel but not yet by Node are reset when the listener closes,
 * so wait for one event-loop turn without a `connection` event. A proxy that does not check readiness keeps sending
 * until the listener closes.
 */
async function drainAcceptBacklog(server: Server): Promise<void> {
  let accepted = true
  const onConnection = () => {
    accepted = true
  }
  server.on('connection', onConnection)
  for (let turn = 0; accepted && turn < MAX_TURNS; turn += 1) {
    accepted = false
    await setImmediate()
  }
  server.off('connection', onConnection)
}

/** RFC 9112, section 3.2: an HTTP/1.1 request without Host must be rejected. */
function hasNoHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1'
}

const pipelined = new WeakMap<Socket, number>()

function exceedsPipelineLimit(socket: Socket, response: ServerResponse): boolean {
  if (socket.destroyed) return true
  const waiting = (pipelined.get(socket) ?? 0) + 1
  pipelined.set(socket, waiting)
  response.once('finish', () => pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1))
  return waiting > MAX_PIPELINED
}

/** Browsers name HTML when they open an address; programs do not. */
function acceptsPage({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/html') === true
}

/** Whether every account's host has this page. Operator routes are excluded, so that their paths are not disclosed. */
function isOnAccountHosts(path: string): boolean {
  return [...(accountPageRouter.get(path)?.byMethod.values() ?? [])].some(({ access }) => access !== 'operator')
}

/** Names what would have been right: the same path in another spelling, or the page that lists all paths of the format. */
function notFound(path: string, format: Format): Refusal {
  const spelled = path.toLowerCase().slice(0, path.endsWith('/') ? -1 : path.length)
  if (spelled !== path && (endpointRouter.has(spelled) || basePageRouter.has(spelled))) {
    const message = `Paths are case-sensitive and have no trailing slash. Use ${spelled}.`
    return new Refusal('not_found', message)
  }
  const listed = format === 'manage' || format === 'scim' ? '' : ' GET /reference lists all paths.'
  return new Refusal('not_found', refusals.not_found.message + listed)
}

/** The query may contain a secret. It is removed from `request.url`, so that no code given the request sees it. */
function removeQuery(request: IncomingMessage): { path: string; query: string } {
  // A proxy may send an absolute request target (RFC 9112, section 3.2.2). Its host is not checked here.
  const target = request.url ?? '/'
  const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  request.url = path
  return { path, query: mark === -1 ? '' : url.slice(mark + 1) }
}

/** Malformed HTTP matches no route: answers with the same error body and closes the connection. */
function refuseBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  security: SecurityHeaders,
  count: (status: number) => void,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code: RefusalCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'invalid_request'
  count(refusals[code].status)
  const body = write('json', { error: code, message: refusals[code].message })
  socket.end(
    [
      `HTTP/1.1 ${refusals[code].status} ${code === 'headers_too_large' ? 'Request Header Fields Too Large' : 'Bad Request'}`,
      'content-type: application/json; charset=utf-8',
      'cache-control: no-store',
      ...Object.entries(security).map(([name, value]) => `${name}: ${value}`),
      `x-request-id: ${createRequestId()}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
