/** HTTP client for requests to other cells of the installation. */
import { type Agent, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { signCellRequest, verifyCellResponse } from './secrets/cells/cell-message.ts'
import type { Keyset } from './secrets/keyset.ts'

/** Header of the MAC, in both directions. */
export const CELL_MAC = 'latchkey-cell-mac'

/** Upper bound of a response: a device code with the longest scopes and state. */
const MAX_BYTES = 1_048_576

/** Longer than another cell waits for a poll that is just delivering the same outcome. */
const TIMEOUT_MS = 8_000

export type CellLink = {
  /** Null: no answer that this cell can trust, within the time. Whether the other cell acted on it is unknown. */
  post(cell: { readonly id: number; readonly address: string }, path: string, body: string): Promise<string | null>
  close(): void
}

/** `requestId`: of the request that is being answered; null: none. */
export function createCellLink(keys: Keyset, requestId: () => string | null): CellLink {
  const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) }

  return {
    post: async ({ id, address }, path, body) => {
      const url = new URL(path, address)
      const agent = url.protocol === 'https:' ? agents['https:'] : agents['http:']
      const about = requestId()
      const proof = signCellRequest(keys, { cell: id, path, body }, Date.now())
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        [CELL_MAC]: proof,
        ...(about === null ? {} : { 'x-request-id': about }),
      }
      const first = await send(url, agent, headers, body)
      // The other cell had closed the keep-alive connection. Every request is safe to repeat. The retry uses a new
      // connection, because other idle ones may be closed as well.
      const received = first === 'stale' ? await send(url, false, headers, body) : first
      if (received === 'stale' || received === null) return null
      return verifyCellResponse(keys, proof, received.body, received.proof) ? received.body : null
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

type Received = { readonly body: string; readonly proof: string }

/** `stale`: a keep-alive connection failed before a response. */
function send(
  url: URL,
  agent: Agent | false,
  headers: Readonly<Record<string, string | number>>,
  body: string,
): Promise<Received | 'stale' | null> {
  return new Promise((resolve) => {
    const options = { method: 'POST', agent, headers, signal: AbortSignal.timeout(TIMEOUT_MS) }
    const read = (response: IncomingMessage) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_BYTES) response.destroy()
        else chunks.push(chunk)
      })
      response.on('error', () => {})
      response.on('close', () => {
        const whole = response.complete && response.statusCode === 200
        const proof = String(response.headers[CELL_MAC] ?? '')
        resolve(whole ? { body: Buffer.concat(chunks).toString(), proof } : null)
      })
    }
    const request = url.protocol === 'https:' ? httpsRequest(url, options, read) : httpRequest(url, options, read)
    request.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE') ? 'stale' : null),
    )
    request.end(body)
  })
}
