/**
 * Forwarder of requests that arrived in the wrong cell: the proxy's map was outdated, or the proxy could not read the
 * form. A request is forwarded once. The response is streamed back, held polls included. docs/scale.md, "Cells".
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { type Cell, homeOf } from '../../core/cells/map.ts'
import { BUCKETED_PARAMETERS, otherCell } from '../../core/cells/routing.ts'
import { readAddress } from '../../core/network.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Cells } from '../../flows/cells/cells.ts'
import { bucketOf } from '../../secrets/bucket.ts'
import { isForwarded, signForwarded } from '../../secrets/cells/forwarded.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import type { Counter } from '../../telemetry/family.ts'
import { singleHeader } from '../header.ts'

const MARK = 'latchkey-forwarded'

/** As long as the proxy waits for us: a held poll takes 25 seconds. */
const ANSWER_MS = 30_000

/** How long a released poll may take to end in the other cell. A proxy before it may not pass on that we have left. */
const RELEASE_MS = 500

/** Headers of one connection, which are not forwarded (RFC 9110, section 7.6.1): Node writes its own. */
const HOP_BY_HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What the cell that forwarded a request says about it. */
export type Forwarded = { readonly requestId: string; readonly address: string | null }

export type Misrouted = Forwarded & {
  readonly to: Cell
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path and query. */
  readonly target: string
  /** Null: it was not read yet. */
  readonly body: Buffer | null
  /** Answers a poll without the other cell, as pending. Null: it is not a poll. */
  readonly answerHere: (() => Promise<void>) | null
  /** Called with the time for which the other cell held a poll. */
  readonly onHeld: (ms: number) => void
}

/** Parameters by name. */
type Parameters = { get(name: string): string | null | undefined }

export type Forwarder = {
  /** Null: the request does not come from another cell. */
  forwarded(request: IncomingMessage): Forwarded | null
  /** The cell of an account's host. Null: this one, or none is known. */
  cellOfSlug(request: IncomingMessage, slug: string): Cell | null
  /** The cell of the code or credential in the parameters or in the header. Null: this one, or there is none. */
  cellOfCodeOrCredential(request: IncomingMessage, parameters: Parameters): Cell | null
  /** The cell that can issue a user code. Null: this one. */
  cellForNewCode(request: IncomingMessage): Cell | null
  /** The home cell. Null: this is it. */
  homeCell(request: IncomingMessage): Cell | null
  /** Throws a Refusal if the other cell does not answer. */
  forward(misrouted: Misrouted): Promise<void>
  /** Answers the polls that other cells hold, and has no more of them held. */
  stopHolding(): void
}

export function createForwarder(
  { own, map, prefixes, cellOfAccount }: Pick<Cells, 'own' | 'map' | 'prefixes' | 'cellOfAccount'>,
  keys: Keyset,
  now: () => number,
  count: Counter<'answered' | 'failed' | 'abandoned'>,
): Forwarder {
  const agents: Agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  const known = new WeakMap<IncomingMessage, Forwarded | null>()
  const held = new Set<() => void>()
  let holding = true

  const read = (request: IncomingMessage): Forwarded | null => {
    const mark = singleHeader(request, MARK)
    const requestId = singleHeader(request, 'x-request-id')
    if (mark === null || requestId === null) return null
    const address = readAddress(singleHeader(request, 'x-forwarded-for') ?? '')
    return isForwarded(keys, mark, { to: own, requestId, address }) ? { requestId, address } : null
  }
  const forwarded = (request: IncomingMessage): Forwarded | null => {
    // Almost no request has the header, and then nothing has to be remembered.
    if (request.headers[MARK] === undefined) return null
    const before = known.get(request)
    if (before !== undefined) return before
    const found = read(request)
    known.set(request, found)
    return found
  }
  /** A request is forwarded once: the cell that it was forwarded to answers, whatever its own map says. */
  const unlessForwarded = (request: IncomingMessage, cell: Cell | null) =>
    cell === null || cell.id === own || forwarded(request) ? null : cell
  const otherThan = (request: IncomingMessage, bucket: number | null) =>
    unlessForwarded(request, otherCell(map(), own, bucket))

  return {
    forwarded,
    cellOfSlug: (request, slug) => unlessForwarded(request, cellOfAccount(slug)),
    cellOfCodeOrCredential: (request, parameters) => {
      for (const name of BUCKETED_PARAMETERS) {
        const text = parameters.get(name)
        if (text) return otherThan(request, bucketOf(text))
      }
      const { authorization } = request.headers
      if (authorization === undefined) return null
      return otherThan(request, bucketOf(/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''))
    },
    // A new cell waits until the codes of the home cell with its prefixes have expired.
    cellForNewCode: (request) => (prefixes(now()).length > 0 ? null : unlessForwarded(request, homeOf(map()))),
    homeCell: (request) => unlessForwarded(request, homeOf(map())),
    forward: async (misrouted) => {
      try {
        const mark = signForwarded(keys, { ...misrouted, to: misrouted.to.id })
        await forwardWithRetry(misrouted, { agents, mark, held: holding ? held : null })
        count.add('answered')
      } catch (error) {
        const { response, answerHere } = misrouted
        const released = error instanceof Released
        count.add(released || error instanceof Abandoned ? 'abandoned' : 'failed')
        if (error instanceof Abandoned) {
          if (!response.headersSent) response.statusCode = CLIENT_CLOSED_REQUEST
          return
        }
        if (released && answerHere) return answerHere()
        if (!response.headersSent) throw new Refusal('unavailable')
        // The response has begun: only a closed connection tells the client that it is incomplete.
        response.destroy()
      }
    },
    stopHolding: () => {
      holding = false
      for (const release of held) release()
    },
  }
}

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent }

type Way = {
  /** Null for a new connection. */
  readonly agents: Agents | null
  readonly mark: string
  /** Functions that release the polls which other cells hold. Null: none may be held. */
  readonly held: Set<() => void> | null
}

/** A keep-alive connection was closed before the first byte of the response. */
class Stale extends Error {}

/** The client disconnected before it had the whole response. */
class Abandoned extends Error {}

/** Status of an abandoned request in metrics and the log, as in nginx. Otherwise they would say 200. */
const CLIENT_CLOSED_REQUEST = 499

/** The poll was released before the other cell answered. */
class Released extends Error {}

/**
 * Forwards a request, and retries it once if a keep-alive connection turns out to be closed. Whether the other cell
 * processed the first attempt is unknown, so only requests that are safe to repeat use keep-alive: idempotent methods
 * (RFC 9110 §9.2.2) and polls, which keep an undelivered outcome for the next poll. Others get a new connection.
 */
async function forwardWithRetry(misrouted: Misrouted, way: Way): Promise<void> {
  try {
    await forwardOnce(misrouted, isRepeatable(misrouted) ? way : { ...way, agents: null })
  } catch (error) {
    if (!(error instanceof Stale)) throw error
    await forwardOnce(misrouted, { ...way, agents: null })
  }
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** A body that is still being received cannot be sent twice. */
function isRepeatable({ request, body, answerHere }: Misrouted): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  const whole = body !== null || (length === undefined && coding === undefined)
  return whole && (answerHere !== null || IDEMPOTENT.has(request.method ?? ''))
}

/** Throws `Stale`, `Abandoned` or `Released`. */
async function forwardOnce(misrouted: Misrouted, way: Way): Promise<void> {
  const { request, response, body } = misrouted
  const outgoing = open(misrouted, way)
  const held = misrouted.answerHere && request.headers.prefer !== undefined ? way.held : null
  const sentAt = performance.now()
  const tellHeld = () => misrouted.onHeld(performance.now() - sentAt)
  let released = false
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const closed = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      // If the client is gone, `gone` has ended the connection.
      reject(outgoing.reusedSocket && closed && !response.destroyed && !released ? new Stale() : error)
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error('the cell does not answer')))
  })
  let answer: IncomingMessage | undefined
  let abandoned = false
  // The other cell learns that the client is gone: it must not count a final answer as delivered.
  const gone = () => {
    // `pipeline` closes the response, too, if the other cell breaks off its own.
    abandoned = !answer?.errored
    outgoing.destroy()
  }
  response.once('close', gone)
  const release = () => {
    released = true
    if (!answer) giveUp(outgoing)
  }
  held?.add(release)
  try {
    if (body === null) request.pipe(outgoing)
    else outgoing.end(body)
    answer = await answered
    if (answer.headers['preference-applied'] !== undefined) tellHeld()
    response.writeHead(answer.statusCode ?? 502, withoutHopByHopHeaders(answer.headers))
    await pipeline(answer, response)
  } catch (error) {
    // The other cell still held the poll.
    if (held && !answer && (abandoned || released)) tellHeld()
    if (abandoned) throw new Abandoned()
    throw released && !answer ? new Released() : error
  } finally {
    held?.delete(release)
    response.off('close', gone)
    request.unpipe(outgoing)
  }
}

/**
 * Gives up a request without losing its response: only our half of the connection is closed. The other cell then closes
 * its own, behind a response that it has sent before; one that it has not sent counts as not delivered there.
 */
function giveUp(outgoing: ClientRequest): void {
  if (!outgoing.socket) return void outgoing.destroy()
  outgoing.socket.end()
  const timer = setTimeout(() => outgoing.destroy(), RELEASE_MS)
  outgoing.once('response', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
}

function open(misrouted: Misrouted, { agents, mark, held }: Way): ClientRequest {
  const { to, request, target } = misrouted
  const url = new URL(to.address)
  // Not resolved against the address: a client can send `//another.host/` as a path.
  const path = target.startsWith('/') ? target : `/${target}`
  const options = {
    method: request.method,
    path,
    headers: headersOf(misrouted, mark, held !== null || misrouted.answerHere === null),
    timeout: ANSWER_MS,
  }
  return url.protocol === 'https:'
    ? httpsRequest(url, { ...options, agent: agents?.https ?? false })
    : httpRequest(url, { ...options, agent: agents?.http ?? false })
}

function headersOf({ request, body, requestId, address }: Misrouted, mark: string, prefers: boolean) {
  const {
    'x-forwarded-for': _sent,
    'content-length': length,
    prefer,
    ...headers
  } = withoutHopByHopHeaders(request.headers)
  const size = body === null ? length : body.length || undefined
  // Node frames no body of a GET request by itself: its bytes would be read as the next request.
  const chunked = body === null && request.headers['transfer-encoding'] !== undefined
  return {
    ...headers,
    ...(size === undefined ? {} : { 'content-length': size }),
    ...(chunked ? { 'transfer-encoding': 'chunked' } : {}),
    ...(prefer === undefined || !prefers ? {} : { prefer }),
    ...(address === null ? {} : { 'x-forwarded-for': address }),
    'x-request-id': requestId,
    [MARK]: mark,
  }
}

function withoutHopByHopHeaders(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP_HEADERS.has(name)))
}
