/** The HTTP server: node:http, serving the routes of routes.ts and nothing else (docs/decisions/0010-no-web-framework.md). */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { Refusal, type RefusalCode, refusals } from '../core/refusal.ts'
import type { Context } from '../flows/context.ts'
import { createRequestId } from '../secrets/random.ts'
import type { Answer, Format } from './answer.ts'
import { answerToError, MethodNotAllowed } from './answer-to-error.ts'
import { createAddressReader } from './client-address.ts'
import { readForm } from './form.ts'
import { singleHeader } from './header.ts'
import { createHostReader } from './hosts.ts'
import { noteRequest } from './note-request.ts'
import { type Form, readParameters } from './parameters.ts'
import { ASSETS, createScopeOpener, NO_ROUTE, type RequestScope, runWithin } from './request-scope.ts'
import { respond, write } from './respond.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { traceRequest } from './trace-request.ts'
import { createAccountServer, isPagePath, pagePathOf, pagePaths } from './web/serve-account.ts'
import { basePathOf, basePaths, createBaseServer, isBasePath } from './web/serve-base.ts'

/**
 * Devices poll every few seconds over the same connection. Node's own five seconds would close it at about the moment of
 * the next poll; a minute and more also outlives the idle time of usual balancers, so that we are never the first to close.
 */
const KEEP_ALIVE_MS = 75_000

/** From the first byte of a request to its last. Nothing we accept takes a client longer. */
const WHOLE_REQUEST_MS = 30_000

/**
 * With a request or an answer under way, how long nothing may move. Whoever does not fetch an answer in that time will not; what
 * waits for them is memory.
 */
const SILENCE_MS = 30_000

/**
 * Requests on one connection that wait behind the answer to another one. Clients of today send none before they have the
 * answer; whoever sends many and fetches nothing would have the answers pile up here.
 */
const MAX_BEHIND = 8

/** How long the last requests may take once nobody new is let in. */
const LAST_REQUESTS_MS = 10_000

export type HttpServer = {
  listen(host: string, port: number): Promise<string>
  /** Not ready from now on; every answer ends its connection, so that clients move over one by one. */
  drain(): void
  /** Waits for the requests that run, and for what their answers set in motion. */
  close(): Promise<void>
}

/** What a request can be counted under. Paths of pages are the same at every account's address. */
export const everyRoute: readonly string[] = [
  ...new Set([NO_ROUTE, ASSETS, ...routes.map(({ path }) => path), ...basePaths, ...pagePaths]),
]

/** `traced`: somebody listens to spans. Otherwise none is made. */
export function createHttpServer(context: Context, traced: boolean): HttpServer {
  const paths = indexRoutes()
  const { requests } = context.counts
  const openScope = createScopeOpener(context.config.trustProxy)
  const addressOf = createAddressReader(context.config.trustProxy)
  const slugOf = createHostReader(context.config.publicUrl)
  const afterwards = new Set<Promise<void>>()
  let draining = false

  /** Work after an answer was sent. A rejection is logged: it must neither end the process nor keep it from closing. */
  const track = (work: Promise<void>) => {
    const caught = work
      .catch((error) => context.events.unexpected('delivery', error))
      .finally(() => afterwards.delete(caught))
    afterwards.add(caught)
  }
  const answer = (response: ServerResponse, { id }: RequestScope, format: Format, given: Answer) => {
    if (draining) response.setHeader('connection', 'close')
    const after = respond(response, id, format, given)
    if (!after) return
    requests.leased(1)
    track(after.finally(() => requests.leased(-1)))
  }
  const serveAccount = createAccountServer(context, addressOf, track)
  const serveBase = createBaseServer(context, addressOf)

  const serve = async (request: IncomingMessage, response: ServerResponse, scope: RequestScope): Promise<void> => {
    const startedAt = performance.now()
    requests.began()
    let format: Format = 'json'
    try {
      if (hasNoHost(request)) throw new Refusal('invalid_request')
      const slug = slugOf(request)
      const { path, query } = takeQueryOff(request)
      if (slug !== null) {
        scope.route = pagePathOf(path)
        if (draining) response.setHeader('connection', 'close')
        return await serveAccount(request, response, { requestId: scope.id, slug, path, query })
      }
      if (isBasePath(path)) {
        scope.route = basePathOf(path)
        if (draining) response.setHeader('connection', 'close')
        return await serveBase(request, response, { requestId: scope.id, path, query })
      }
      format = formatOf(path)
      const route = chooseRoute(paths, path, request.method)
      scope.route = route.path
      const form: Form | undefined = await readForm(request)
      const asked = {
        parameters: () => readParameters(query, form),
        form: () => readParameters('', form),
        header: (name: string) => singleHeader(request, name),
        address: () => addressOf(request.socket.remoteAddress, singleHeader(request, 'x-forwarded-for')),
        draining,
      }
      const given = await route.handler(context, asked).catch((error: unknown) => answerToError(context, error))
      answer(response, scope, format, given)
      noteRequest(context, route, asked, query.includes('secret'), given)
    } catch (error) {
      answer(response, scope, format, answerToError(context, error))
    } finally {
      const ms = performance.now() - startedAt
      requests.ended(scope.route, response.statusCode, ms / 1000)
      context.events.answered?.({ method: request.method ?? '', status: response.statusCode, ms })
    }
  }

  const receive = (request: IncomingMessage, response: ServerResponse) => {
    // Without a socket of its own, it waits behind another answer.
    if (response.socket === null && isCrowded(request.socket, response)) return void request.socket.destroy()
    const scope = openScope(request)
    const work = () => serve(request, response, scope)
    return runWithin(scope, traced ? () => traceRequest(request, response, scope, work) : work)
  }

  const settings = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: WHOLE_REQUEST_MS, requireHostHeader: false }
  const server = createServer(settings, receive)
  server.setTimeout(SILENCE_MS)
  // Node would answer these two by itself, in other words. An expectation that nobody knows may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', receive)
  server.on('clientError', (error, socket) => refuseBrokenRequest(error, socket as Socket, requests.broken))

  return {
    listen: async (host, port) => {
      server.listen(port, host === '' ? undefined : host)
      await once(server, 'listening')
      const bound = server.address() as AddressInfo
      return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`
    },
    drain: () => {
      draining = true
    },
    close: async () => {
      // Node stops enforcing its own time limits once it closes; a client that fell silent must not keep us for ever.
      const timer = setTimeout(() => server.closeAllConnections(), LAST_REQUESTS_MS)
      const closed = once(server, 'close')
      await nobodyPolls(server)
      server.close()
      await closed
      clearTimeout(timer)
      await Promise.all(afterwards)
    },
  }
}

/** Turns of the event loop; enough for all that the system keeps waiting, one by one. */
const MAX_TURNS = 1_000

/**
 * Until a turn passed in which nobody had to be let in. Whom the system has let in and this process has not, when it stops
 * listening, is sent away unheard, and a proxy that does not ask who is ready goes on sending until then.
 */
async function nobodyPolls(server: Server): Promise<void> {
  let accepted = true
  const note = () => {
    accepted = true
  }
  server.on('connection', note)
  for (let turn = 0; accepted && turn < MAX_TURNS; turn += 1) {
    accepted = false
    await setImmediate()
  }
  server.off('connection', note)
}

/** RFC 9112, section 3.2: it has to be refused. */
function hasNoHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1'
}

const behind = new WeakMap<Socket, number>()

function isCrowded(socket: Socket, response: ServerResponse): boolean {
  if (socket.destroyed) return true
  const waiting = (behind.get(socket) ?? 0) + 1
  behind.set(socket, waiting)
  response.once('finish', () => behind.set(socket, (behind.get(socket) ?? 1) - 1))
  return waiting > MAX_BEHIND
}

/** The path alone says which words the answer is in, also for a refusal of what is behind it. */
function formatOf(path: string): Format {
  if (path.endsWith('.xml')) return 'xml'
  return path.startsWith('/oauth/') || path.startsWith('/.well-known/') ? 'standard' : 'json'
}

type Paths = ReadonlyMap<string, Readonly<Record<string, Route>>>

function indexRoutes(): Paths {
  const paths = new Map<string, Record<string, Route>>()
  for (const route of routes) {
    const { method, path, dialect } = route
    const bases = dialect === 'interface' ? [path, `/1${path}`, `${path}.xml`, `/1${path}.xml`] : [path]
    for (const base of bases) {
      const methods = paths.get(base) ?? {}
      methods[method] = route
      // Node sends no body in answer to HEAD.
      if (method === 'GET') methods.HEAD = route
      paths.set(base, methods)
    }
  }
  return paths
}

/** The query may hold a secret. It is taken off the address here, so that nothing that is handed the request sees it. */
function takeQueryOff(request: IncomingMessage): { path: string; query: string } {
  // A proxy may send the whole address (RFC 9112, section 3.2.2). The host is not ours to judge.
  const url = (request.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '')
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  request.url = path
  return { path, query: mark === -1 ? '' : url.slice(mark + 1) }
}

/** Paths are compared as they came, without undoing escapes: `/code%2exml` is not `/code.xml`. */
function chooseRoute(paths: Paths, path: string, method = ''): Route {
  const methods = paths.get(path)
  if (!methods) throw new Refusal(isPagePath(path) ? 'misdirected' : 'not_found')
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (!route) throw new MethodNotAllowed(Object.keys(methods).join(', '))
  return route
}

/** Malformed HTTP matches no route: answers with the same error body and closes the connection. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, count: (status: number) => void): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code: RefusalCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'invalid_request'
  count(refusals[code].status)
  const body = write('json', { error: code, message: refusals[code].message })
  socket.end(
    [
      `HTTP/1.1 ${refusals[code].status} ${code === 'headers_too_large' ? 'Request Header Fields Too Large' : 'Bad Request'}`,
      'content-type: application/json; charset=utf-8',
      'cache-control: no-store',
      `x-request-id: ${createRequestId()}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
