/** A proxy to a service that can be cut off, or duplicate requests. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type HttpProxy = { readonly address: string; close(): Promise<void> }

export type HttpProxyOptions = {
  /** Sends each poll a second time, a moment earlier. */
  readonly pollTwice?: boolean
  /** As a misconfigured proxy: replaces the Host header by that of the upstream. */
  readonly changeHost?: boolean
}

/** `to` is evaluated for each request: the service may be started later. */
export async function startHttpProxy(
  to: () => string,
  { pollTwice = false, changeHost = false }: HttpProxyOptions = {},
): Promise<HttpProxy> {
  const pass = async (incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> => {
    const target = new URL(to())
    const headers = { ...incoming.headers, ...(changeHost ? { host: target.host } : {}) }
    const outgoing = request(new URL(incoming.url ?? '/', target), { method: incoming.method ?? 'GET', headers })
    outgoing.end(body)
    const [answer] = await once(outgoing, 'response')
    return answer as IncomingMessage
  }
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming)
    if (pollTwice && /polling$|oauth\/token$/.test(incoming.url ?? '')) (await pass(incoming, body)).resume()
    const answer = await pass(incoming, body)
    response.writeHead(answer.statusCode ?? 0, answer.headers)
    answer.pipe(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
