/** The HTTP server: fastify, with every door registered from routes.ts and nothing else. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Refusal, type RefusalCode, refusals } from '../core/refusal.ts'
import type { Context } from '../flows/context.ts'
import { Unavailable } from '../store/postgres.ts'
import type { Answer, Format } from './answer.ts'
import { type Form, readParameters } from './parameters.ts'
import { respond, write } from './respond.ts'
import { type Door, doors } from './routes.ts'

const LARGEST_BODY_BYTES = 16 * 1024

/**
 * Devices poll every few seconds over the same connection. Node's own five seconds would close it at about the moment of
 * the next poll; a minute and more also outlives the idle time of usual balancers, so that we are never the first to close.
 */
const KEEP_ALIVE_MS = 75_000

/** From the first byte of a request to its last. Nothing we accept takes a client longer. */
const WHOLE_REQUEST_MS = 30_000

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
  const queries = new WeakMap<IncomingMessage, string>()
  const afterwards = new Set<Promise<void>>()
  let draining = false

  const app = fastify({
    logger: false,
    bodyLimit: LARGEST_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: WHOLE_REQUEST_MS,
    return503OnClosing: false,
    clientErrorHandler: refuseBrokenRequest,
    // The query may hold a secret. It is taken off here, before routing, so that nothing behind this line ever sees it.
    rewriteUrl: (request) => {
      const url = request.url ?? '/'
      const mark = url.indexOf('?')
      if (mark !== -1) queries.set(request, url.slice(mark + 1))
      const path = mark === -1 ? url : url.slice(0, mark)
      // Our paths need no escapes, and the router would undo them: `/code%2exml` must not be `/code.xml`.
      return path.includes('%') ? '/-' : path
    },
  })
  readFormsOnly(app)

  /** Fastify reads and routes; respond.ts writes. */
  const answerWith = (reply: FastifyReply, format: Format, answer: Answer) => {
    reply.hijack()
    if (draining) reply.raw.setHeader('connection', 'close')
    const after = respond(reply.raw, format, answer)
    if (!after) return
    afterwards.add(after)
    after.finally(() => afterwards.delete(after))
  }

  const open = (url: string, format: Format, door: Door) => {
    const fail = (error: Error, reply: FastifyReply) => answerWith(reply, format, answerTo(context, error))
    app.route({
      method: door.method,
      url,
      handler: (request, reply) => {
        const asked = {
          parameters: () => readParameters(queries.get(request.raw) ?? '', request.body as Form | undefined),
          header: (name: string) => singleHeader(request, name),
          draining,
        }
        door.handler(context, asked).then(
          (answer) => answerWith(reply, format, answer),
          (error) => fail(error, reply),
        )
      },
      errorHandler: (error, _request, reply) => fail(error, reply),
    })
  }

  for (const door of doors) {
    const bases = door.face === 'interface' ? [door.path, `/1${door.path}`] : [door.path]
    for (const base of bases) {
      open(base, 'json', door)
      if (door.face === 'interface') open(`${base}.xml`, 'xml', door)
    }
  }

  app.setNotFoundHandler((request, reply) => answerWith(reply, formatOf(request.url), answerToUnknown(app, request)))
  app.setErrorHandler((error: FastifyError, request, reply) =>
    answerWith(reply, formatOf(request.url), answerTo(context, error)),
  )

  return {
    listen: (host, port) => app.listen({ port, ...(host === '' ? {} : { host }) }),
    drain: () => {
      draining = true
    },
    close: async () => {
      // Node stops enforcing its own time limits once it closes; a client that fell silent must not keep us for ever.
      const timer = setTimeout(() => app.server.closeAllConnections(), LAST_REQUESTS_MS)
      await app.close()
      clearTimeout(timer)
      await Promise.all(afterwards)
    },
  }
}

/** Two content types, and both only in UTF-8. A body of any other kind is not looked at. */
function readFormsOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const types = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const
  for (const type of types) {
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (request, bytes, done) => {
      const header = request.headers['content-type'] ?? ''
      const charset = /;\s*charset="?([^";\s]+)/i.exec(header)?.[1]
      if (charset && !/^utf-?8$/i.test(charset)) return done(new Refusal('unsupported_media_type'))
      const form: Form = { bytes: bytes as Buffer, multipart: type === 'multipart/form-data' ? header : null }
      done(null, form)
    })
  }
  // An empty body is no body, whatever it calls itself: the parameters may all be in the query.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) =>
    bytes.length === 0 ? done(null, undefined) : done(new Refusal('unsupported_media_type')),
  )
}

function singleHeader(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name]
  return typeof value === 'string' ? value : null
}

function formatOf(path: string): Format {
  return path.endsWith('.xml') ? 'xml' : 'json'
}

function answerToUnknown(app: FastifyInstance, request: FastifyRequest): Answer {
  const allowed = (['GET', 'HEAD', 'POST'] as const).filter((method) => app.hasRoute({ method, url: request.url }))
  return allowed.length > 0 ? { refusal: 'method_not_allowed', allow: allowed.join(', ') } : { refusal: 'not_found' }
}

const FRAMEWORK_REFUSALS: Record<string, RefusalCode> = {
  // The client left in the middle of its own request; nobody will read the answer.
  ECONNRESET: 'invalid_request',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'not_found',
}

function answerTo(context: Context, error: FastifyError | Error): Answer {
  if (error instanceof Refusal) return { refusal: error.code, message: error.message }
  if (error instanceof Unavailable) return { refusal: 'unavailable', retryAfterSeconds: 1 }
  const known = 'code' in error ? FRAMEWORK_REFUSALS[error.code] : undefined
  if (known) return { refusal: known }
  if ('statusCode' in error && Number(error.statusCode) < 500) return { refusal: 'invalid_request' }
  context.events.unexpected('http', error)
  return { refusal: 'server_error' }
}

/** What does not even parse as HTTP never reaches a route; it is refused in the same words, and the connection ends. */
function refuseBrokenRequest(error: { readonly code?: string }, socket: Socket): void {
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
