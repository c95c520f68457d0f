/**
 * The reference: node:http, a form read to its end where there is one, and one fixed reply of the same size and headers as the
 * real server's. Which reply is given as JSON; without it, that of a pending poll.
 */
import { createServer } from 'node:http'

export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const PENDING_POLL: Reply = {
  status: 400,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'x-content-type-options': 'nosniff',
    'x-request-id': '5d0c8e2f9a4b7163',
    'retry-after': '5',
  },
  body: '{"error":"auth_pending","message":"The user has not yet processed the code. Keep polling, no faster than the interval."}',
}

const { status, headers, body }: Reply = process.argv[2] === undefined ? PENDING_POLL : JSON.parse(process.argv[2])
const allHeaders = { ...headers, 'content-length': Buffer.byteLength(body) }

const server = createServer((request, response) => {
  const reply = () => {
    response.writeHead(status, allHeaders)
    response.end(body)
  }
  if (request.method === 'GET') return reply()
  request.on('data', () => {})
  request.on('end', reply)
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
})
