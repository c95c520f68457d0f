/** A client of a proxy: uses TLS, verifies the certificate, and has its own address. */
import { type Agent, request } from 'node:https'
import { type ConnectionOptions, connect } from 'node:tls'
import type { WireAnswer } from '../rig/device.ts'
import type { Certificate } from '../rig/network/receiver.ts'

/** All of 127.0.0.0/8 is this machine, so a client can have another address than the proxy. */
export const CLIENT = '127.0.0.7'

export type Sent = {
  readonly host: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

/** The proxy; with an agent, over keep-alive connections. */
type At = { readonly port: number; readonly certificate: Certificate; readonly agent?: Agent }

/** A remote client: TLS with a verified certificate, to the proxy's port. */
export function ask(
  { port, certificate, agent }: At,
  path: string,
  { host, method = 'POST', headers, body }: Sent,
): Promise<WireAnswer> {
  const form = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        localAddress: CLIENT,
        servername: host,
        ca: certificate.cert,
        method,
        path,
        agent: agent ?? false,
        headers: { host: `${host}:${port}`, ...form, ...length, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = String(response.headers['content-type']).startsWith('application/json')
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: isJson ? JSON.parse(text) : text,
          })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

type Negotiated = { readonly protocol: string | null; readonly cipher: string }

/** What the proxy chooses of what a client offers. */
export function negotiate({ port, certificate }: At, offered: ConnectionOptions): Promise<Negotiated | 'refused'> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, servername: 'service.example', ca: certificate.cert, ...offered }
    const socket = connect(options, () => {
      resolve({ protocol: socket.getProtocol(), cipher: socket.getCipher().name })
      socket.destroy()
    })
    socket.on('error', () => resolve('refused'))
  })
}
