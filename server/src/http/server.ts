/** The HTTP server: node:http, with every door opened from routes.ts and nothing else (docs/decisions/0010-no-web-framework.md). */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Refusal, type RefusalCode, refusals } from '../core/refusal.ts'
import type { Context } from '../flows/context.ts'
import { createAccountServer, isPagePath } from './account/serve.ts'
import type { Answer, Format } from './answer.ts'
import { answerToError, MethodNotAllowed } from './answer-to-error.ts'
import { createBaseServer, isBasePath } from './base/serve.ts'
import { createAddressReader } from './client-address.ts'
import { readForm } from './form.ts'
import { singleHeader } from './header.ts'
import { createHostReader } from './hosts.ts'
import { noteRequest } from './note-request.ts'
import { type Form, readParameters } from './parameters.ts'
import { respond, write } from './respond.ts'
import { type Door, doors } from './routes.ts'

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
const MOST_BEHIND = 8

/** How long the last requests may take once nobody new is let in. */
const LAST_REQUESTS_MS = 10_000

export type HttpServer = {
  listen(host: string, port: number): Promise<string>
  /** Not ready from now on; every answer ends its connection, so that clients move over one by one. */
  drain(): void
  /** Waits for the requests that run, and for what their answers set in motion. */
  close(): Promise<void>
}

export function createHttpServer(context: Context): HttpServer {
  const paths = openDoors()
  const addressOf = createAddressReader(context.config.trustProxy)
  const slugOf = createHostReader(context.config.publicUrl)
  const afterwards = new Set<Promise<void>>()
  let draining = false

  const track = (work: Promise<void>) => {
    afterwards.add(work)
    work.finally(() => afterwards.delete(work))
  }
  const answer = (response: ServerResponse, format: Format, given: Answer) => {
    if (draining) response.setHeader('connection', 'close')
    const after = respond(response, format, given)
    if (after) track(after)
  }
  const serveAccount = createAccountServer(context, addressOf, track)
  const serveBase = createBaseServer(context, addressOf)

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Without a socket of its own, it waits behind another answer.
    if (response.socket === null && isCrowded(request.socket, response)) return void request.socket.destroy()
    let format: Format = 'json'
    try {
      const slug = slugOf(request)
      const { path, query } = takeQueryOff(request)
      if (slug !== null) {
        if (draining) response.setHeader('connection', 'close')
        return await serveAccount(request, response, { slug, path, query })
      }
      if (isBasePath(path)) {
        if (draining) response.setHeader('connection', 'close')
        return await serveBase(request, response, { path, query })
      }
      format = formatOf(path)
      const door = chooseDoor(paths, path, request.method)
      const form: Form | undefined = await readForm(request)
      const asked = {
        parameters: () => readParameters(query, form),
        form: () => readParameters('', form),
        header: (name: string) => singleHeader(request, name),
        address: () => addressOf(request.socket.remoteAddress, singleHeader(request, 'x-forwarded-for')),
        draining,
      }
      const given = await door.handler(context, asked).catch((error: unknown) => answerToError(context, error))
      answer(response, format, given)
      noteRequest(context, door, asked, query.includes('secret'), given)
    } catch (error) {
      answer(response, format, answerToError(context, error))
    }
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: WHOLE_REQUEST_MS }, serve)
  server.setTimeout(SILENCE_MS)
  server.on('clientError', refuseBrokenRequest)

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
      // Right after those that knocked were let in: whoever knocks between that and the closing is sent away unheard.
      setImmediate(() => server.close())
      await closed
      clearTimeout(timer)
      await Promise.all(afterwards)
    },
  }
}

const behind = new WeakMap<Socket, number>()

function isCrowded(socket: Socket, response: ServerResponse): boolean {
  if (socket.destroyed) return true
  const waiting = (behind.get(socket) ?? 0) + 1
  behind.set(socket, waiting)
  response.once('finish', () => behind.set(socket, (behind.get(socket) ?? 1) - 1))
  return waiting > MOST_BEHIND
}

/** The path alone says which words the answer is in, also for a refusal of what is behind it. */
function formatOf(path: string): Format {
  if (path.endsWith('.xml')) return 'xml'
  return path.startsWith('/oauth/') || path.startsWith('/.well-known/') ? 'standard' : 'json'
}

type Paths = ReadonlyMap<string, Readonly<Record<string, Door>>>

function openDoors(): Paths {
  const paths = new Map<string, Record<string, Door>>()
  for (const door of doors) {
    const { method, path, face } = door
    const bases = face === 'interface' ? [path, `/1${path}`, `${path}.xml`, `/1${path}.xml`] : [path]
    for (const base of bases) {
      const methods = paths.get(base) ?? {}
      methods[method] = door
      // Node sends no body in answer to HEAD.
      if (method === 'GET') methods.HEAD = door
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
function chooseDoor(paths: Paths, path: string, method = ''): Door {
  const methods = paths.get(path)
  if (!methods) throw new Refusal(isPagePath(path) ? 'misdirected' : 'not_found')
  const door = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (!door) throw new MethodNotAllowed(Object.keys(methods).join(', '))
  return door
}

/** What does not even parse as HTTP never reaches a door; it is refused in the same words, and the connection ends. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code: RefusalCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'invalid_request'
  const body = write('json', { error: code, message: refusals[code].message })
  socket.end(
    [
      `HTTP/1.1 ${refusals[code].status} ${code === 'headers_too_large' ? 'Request Header Fields Too Large' : 'Bad Request'}`,
      'content-type: application/json; charset=utf-8',
      'cache-control: no-store',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
