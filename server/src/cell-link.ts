/** HTTP client for requests to other cells of the installation. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { signCellRequest, verifyCellResponse } from './secrets/cell-message.ts'
import type { Keyset } from './secrets/keyset.ts'

/** Header of the MAC, in both directions. */
export const CELL_MAC = 'latchkey-cell-mac'

/** Upper bound of a response: a device code with the longest scopes and state. */
const MAX_BYTES = 1_048_576

export type CellLink = {
  /** Null: no answer that this cell can trust, within the time. Whether the other cell acted on it is unknown. */
  post(cell: { readonly id: number; readonly address: string }, path: string, body: string): Promise<string | null>
  close(): void
}

/** Longer than another cell waits for a poll that is just delivering the same outcome. */
const PATIENCE_MS = 8_000

/** `requestId`: of the request that is being answered; null: none. */
export function createCellLink(keys: Keyset, requestId: () => string | null): CellLink {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }

  return {
    post: ({ id, address }, path, body) =>
      new Promise((resolve) => {
        const proof = signCellRequest(keys, { cell: id, path, body }, Date.now())
        const about = requestId()
        const url = new URL(path, address)
        const secure = url.protocol === 'https:'
        const options = {
          method: 'POST',
          agent: secure ? agents.https : agents.http,
          signal: AbortSignal.timeout(PATIENCE_MS),
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            [CELL_MAC]: proof,
            ...(about === null ? {} : { 'x-request-id': about }),
          },
        }
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
            const text = Buffer.concat(chunks).toString()
            const given = String(response.headers[CELL_MAC] ?? '')
            const trusted = response.complete && response.statusCode === 200
            resolve(trusted && verifyCellResponse(keys, proof, text, given) ? text : null)
          })
        }
        const request = secure ? httpsRequest(url, options, read) : httpRequest(url, options, read)
        request.on('error', () => resolve(null))
        request.end(body)
      }),
    close: () => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}
