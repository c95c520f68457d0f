/** The reference: node:http, the form read to its end, one fixed reply of the same size and headers as a pending poll. */
import { createServer } from 'node:http'

const BODY =
  '{"error":"auth_pending","message":"The user has not yet processed the code. Keep polling, no faster than the interval."}'

const server = createServer((request, response) => {
  request.on('data', () => {})
  request.on('end', () => {
    response.writeHead(400, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'retry-after': '5',
      'content-length': Buffer.byteLength(BODY),
    })
    response.end(BODY)
  })
})
server.keepAliveTimeout = 75_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
})
