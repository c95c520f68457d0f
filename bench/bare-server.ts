/**
 * The reference: node:http that reads the form, if any, and sends one fixed reply of the same size and headers as the
 * real server's, at once or after some time. The reply is given as JSON.
 */
import { createServer } from 'node:http'

export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
  readonly afterMs?: number
}

const { status, headers, body, afterMs }: Reply = JSON.parse(process.argv[2] ?? '')
const allHeaders = { ...headers, 'content-length': Buffer.byteLength(body) }

const server = createServer((request, response) => {
  const reply = () => {
    response.writeHead(status, allHeaders)
    response.end(body)
  }
  if (request.method === 'GET') return reply()
  request.on('data', () => {})
  request.on('end', afterMs === undefined ? reply : () => setTimeout(reply, afterMs))
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
})
