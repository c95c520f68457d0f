/**
 * Forwards a request that arrived in the wrong cell to the right one, once: the proxy's map was older than a change, or the proxy
 * could not read the form. The answer passes through as it comes, held polls included. docs/scale.md, "Cells".
 */
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Cell, CellMap } from '../../core/cells/map.ts'
import { BUCKETED_PARAMETERS, otherCell } from '../../core/cells/routing.ts'
import { readAddress } from '../../core/network.ts'
import { Refusal } from '../../core/refusal.ts'
import { bucketOf, bucketOfSlug } from '../../secrets/bucket.ts'
import { isForwarded, signForwarded } from '../../secrets/cells/forwarded.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import type { Counter } from '../../telemetry/family.ts'
import { singleHeader } from '../header.ts'
import type { FormFields } from '../parameters.ts'

const MARK = 'latchkey-forwarded'

/** As long as the proxy waits for us: a held poll takes 25 seconds. */
const ANSWER_MS = 30_000

/** Of one connection only (RFC 9110, section 7.6.1): Node writes its own. */
const OF_CONNECTION = new Set([
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
}

export type Forwarder = {
  /** Null: the request does not come from another cell. */
  readForwarded(request: IncomingMessage): Forwarded | null
  /** The cell of an account's host. Null: this one, or none is known. */
  cellOfSlug(slug: string): Cell | null
  /** The cell of the code or credential in these parameters. Null: this one, or there is none. */
  cellOfParameters(parameters: FormFields | URLSearchParams): Cell | null
  /** The cell of the bearer credential. Null: this one, or there is none. */
  cellOfBearer(authorization: string | null): Cell | null
  /** Throws a Refusal if the other cell does not answer. */
  forward(misrouted: Misrouted): Promise<void>
}

export type ForwarderSettings = {
  readonly here: number
  readonly keys: Keyset
  readonly map: () => CellMap
  readonly count: Counter<'answered' | 'failed'>
}

export function createForwarder({ here, keys, map, count }: ForwarderSettings): Forwarder {
  const agent = new Agent({ keepAlive: true })
  const cellOf = (bucket: number | null) => otherCell(map(), here, bucket)
  return {
    readForwarded: (request) => {
      const mark = singleHeader(request, MARK)
      const requestId = singleHeader(request, 'x-request-id')
      if (mark === null || requestId === null) return null
      const address = readAddress(singleHeader(request, 'x-forwarded-for') ?? '')
      return isForwarded(keys, mark, { to: here, requestId, address }) ? { requestId, address } : null
    },
    cellOfSlug: (slug) => cellOf(map().accountBuckets.get(slug) ?? bucketOfSlug(slug)),
    cellOfParameters: (parameters) => {
      for (const name of BUCKETED_PARAMETERS) {
        const text = parameters.get(name)
        if (text) return cellOf(bucketOf(text))
      }
      return null
    },
    cellOfBearer: (authorization) => cellOf(bucketOf(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '')),
    forward: async (misrouted) => {
      try {
        await pass(misrouted, agent, signForwarded(keys, { ...misrouted, to: misrouted.to.id }))
        count.add('answered')
      } catch (error) {
        count.add('failed')
        // The answer has begun: all that can be said is that it is not whole.
        if (misrouted.response.headersSent) return void misrouted.response.destroy()
        throw error
      }
    },
  }
}

async function pass(
  { to, request, response, target, body, requestId, address }: Misrouted,
  agent: Agent,
  mark: string,
) {
  const headers = {
    ...withoutConnection(request.headers),
    ...(body === null ? {} : { 'content-length': body.length }),
    'x-request-id': requestId,
    ...(address === null ? {} : { 'x-forwarded-for': address }),
    [MARK]: mark,
  }
  if (address === null) delete (headers as Record<string, unknown>)['x-forwarded-for']
  const outgoing = httpRequest(to.address + target, { method: request.method, headers, agent, timeout: ANSWER_MS })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    outgoing.once('timeout', () => outgoing.destroy(new Error('the cell does not answer')))
  })
  // The other cell learns that the client is gone: it must not count a final answer as delivered.
  const onClose = () => outgoing.destroy()
  response.once('close', onClose)
  try {
    if (body === null) await pipeline(request, outgoing)
    else outgoing.end(body)
    const answer = await answered
    response.writeHead(answer.statusCode ?? 502, withoutConnection(answer.headers))
    await pipeline(answer, response)
  } catch (error) {
    answered.catch(() => {})
    if (response.headersSent) throw error
    throw new Refusal('unavailable')
  } finally {
    response.off('close', onClose)
  }
}

function withoutConnection(headers: IncomingMessage['headers']) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)))
}
