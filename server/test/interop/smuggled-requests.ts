/**
 * Bytes in which a proxy and the server behind it might see different requests. The request inside says which address it comes from: a
 * proxy that sees it replaces the address, so that the address reaches the service only with a request that the proxy did not see.
 */
import { connect } from 'node:tls'
import type { Certificate } from '../rig/network/receiver.ts'

/** Of no machine (RFC 5737), another for each way. */
export const madeUp = (way: number): string => `203.0.113.${way + 1}`

export function hiddenRequest(host: string, body: string, address: string): string {
  return [
    'POST /auth/oauth/device/code HTTP/1.1',
    `Host: ${host}`,
    `X-Forwarded-For: ${address}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

type Write = (host: string, hidden: string) => string

const FORM = 'Content-Type: application/x-www-form-urlencoded'
const outer = (host: string, ...headers: string[]) =>
  ['POST /auth/oauth/device/polling HTTP/1.1', `Host: ${host}`, FORM, ...headers].join('\r\n')
const asChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
/** Chunks end at once; whoever goes by the length takes the hidden request for the body. */
const byLength =
  (encoding: string): Write =>
  (host, hidden) =>
    `${outer(host, `Content-Length: ${hidden.length + 5}`, encoding)}\r\n\r\n0\r\n\r\n${hidden}`
/** The hidden request is the chunk; whoever goes by the length, which ends before it, takes it for the next one. */
const byChunks =
  (encoding: string): Write =>
  (host, hidden) =>
    `${outer(host, `Content-Length: ${hidden.length.toString(16).length + 2}`, encoding)}\r\n\r\n${asChunk(hidden)}`

const ENCODINGS = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding:\r\n chunked',
  'X: y\nTransfer-Encoding: chunked',
  'transfer_encoding: chunked',
  ' Transfer-Encoding: chunked',
]

export const SMUGGLED: readonly (readonly [string, Write])[] = [
  ...ENCODINGS.flatMap((encoding) => [
    [`a length and ${JSON.stringify(encoding)}`, byLength(encoding)] as const,
    [`a chunk behind a length and ${JSON.stringify(encoding)}`, byChunks(encoding)] as const,
  ]),
  [
    'a second, shorter length',
    (host, hidden) => `${outer(host, `Content-Length: ${hidden.length}`, 'Content-Length: 0')}\r\n\r\n${hidden}`,
  ],
  [
    'a second, longer length',
    (host, hidden) => `${outer(host, 'Content-Length: 0', `Content-Length: ${hidden.length}`)}\r\n\r\n${hidden}`,
  ],
  ['a length with a sign', (host, hidden) => `${outer(host, 'Content-Length: +0')}\r\n\r\n${hidden}`],
  ['a list of lengths', (host, hidden) => `${outer(host, `Content-Length: 0, ${hidden.length}`)}\r\n\r\n${hidden}`],
  ['a folded header', (host, hidden) => `${outer(host, 'X: a', ' Content-Length: 0')}\r\n\r\n${hidden}`],
  ['line feeds alone', (host, hidden) => `${outer(host, 'Content-Length: 0').replaceAll('\r\n', '\n')}\n\n${hidden}`],
  [
    'a line feed in the extension of a chunk',
    (host, hidden) => `${outer(host, 'Transfer-Encoding: chunked')}\r\n\r\n0;a\n\r\n\r\n${hidden}`,
  ],
  [
    'a chunk size that overflows',
    (host, hidden) => `${outer(host, 'Transfer-Encoding: chunked')}\r\n\r\n100000000000000000\r\n${hidden}`,
  ],
  [
    'a body of a GET',
    (host, hidden) => `GET /health/live HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  ],
  [
    'a line break in the path',
    (host, hidden) => `GET /%0d%0a%0d%0a${encodeURI(hidden)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  ],
]

/** Sends the bytes over one connection with TLS, and ends when it is answered and closed, or silent. */
export function sendBytes({ port, certificate }: { port: number; certificate: Certificate }, text: string) {
  return new Promise<string>((resolve) => {
    let received = ''
    const options = { host: '127.0.0.1', port, servername: 'service.example', ca: certificate.cert }
    const socket = connect({ ...options, ALPNProtocols: ['http/1.1'] }, () => socket.write(text, 'latin1'))
    socket.setTimeout(SILENT_MS, () => socket.destroy())
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(received))
  })
}

const SILENT_MS = 250
