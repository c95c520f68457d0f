/** A receiver of webhooks on this machine; it can also fail, hang and misbehave. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { removeFolder } from '../../../../tools/remove-folder.ts'

export type Received = {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** By this machine's clock. */
  readonly at: number
}

/**
 * A status, or: no answer; a byte of the headers or of the body now and then; an endless body; a body shorter than announced; no
 * HTTP; a closed connection; an upgrade; or a redirect.
 */
export type Answer =
  | number
  | 'hang'
  | 'drip'
  | 'drip body'
  | 'endless'
  | 'cut short'
  | 'garbage'
  | 'close'
  | 'upgrade'
  | { readonly to: string }

export type Receiver = {
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
  /** Connections opened so far, and open now. */
  readonly connections: { opened: number; open: number }
  /** Bytes of an endless body that it could send. */
  written(): number
  /** From now on; evaluated for every request. */
  answer(answer: Answer | ((request: Received, count: number) => Answer)): void
  /** Resolves once this many have arrived. */
  waitFor(count: number, ms?: number): Promise<readonly Received[]>
  stop(): Promise<void>
}

export type Certificate = { readonly key: string; readonly cert: string }

type Where = { readonly host?: string; readonly port?: number; readonly certificate?: Certificate }

export async function startReceiver({ host = '127.0.0.1', port = 0, certificate }: Where = {}): Promise<Receiver> {
  const received: Received[] = []
  const connections = { opened: 0, open: 0 }
  const sockets = new Set<Socket>()
  const timers = new Set<NodeJS.Timeout>()
  let choose: (request: Received, count: number) => Answer = () => 204
  let written = 0

  const every = (ms: number, response: ServerResponse, step: () => void) => {
    const timer = setInterval(
      () => (response.destroyed || response.socket?.destroyed ? clearInterval(timer) : step()),
      ms,
    )
    timers.add(timer)
  }
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request).catch(() => null)
    if (body === null) return
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const each = { headers, body, at: Date.now() }
    received.push(each)
    const answer = choose(each, received.length)
    const raw = response.socket
    if (typeof answer === 'number') response.writeHead(answer).end()
    else if (typeof answer === 'object') response.writeHead(302, { location: answer.to }).end()
    else if (answer === 'close') raw?.destroy()
    else if (answer === 'garbage') raw?.end('220 mail.example ESMTP\r\n')
    else if (answer === 'upgrade')
      raw?.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
    else if (answer === 'drip') {
      const line = 'HTTP/1.1 200 OK\r\n'
      let at = 0
      every(50, response, () => raw?.write(line[at++] ?? 'x'))
    } else if (answer === 'drip body') {
      response.writeHead(200, { 'content-length': 1_000_000 })
      every(50, response, () => response.write('x'))
    } else if (answer === 'cut short') {
      response.writeHead(200, { 'content-length': 1_000 }).write('half')
      setTimeout(() => raw?.destroy(), 20)
    } else if (answer === 'endless') {
      const chunk = 'not json '.repeat(1_000)
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        let room = true
        while (room && !response.destroyed && !raw?.destroyed) {
          written += chunk.length
          room = response.write(chunk)
        }
        if (!room) response.once('drain', more)
      }
      more()
    }
  }
  const server = certificate ? createSecureServer(certificate, listener) : createServer(listener)
  server.on('connection', (socket: Socket) => {
    connections.opened += 1
    connections.open += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      connections.open -= 1
      sockets.delete(socket)
    })
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  const chosen = (server.address() as AddressInfo).port

  return {
    url: `${certificate ? 'https' : 'http'}://${host}:${chosen}/hooks`,
    port: chosen,
    received,
    connections,
    written: () => written,
    answer: (answer) => {
      choose = typeof answer === 'function' ? answer : () => answer
    },
    waitFor: async (count, ms = 5_000) => {
      for (const late = Date.now() + ms; received.length < count; ) {
        if (Date.now() > late) throw new Error(`only ${received.length} of ${count} arrived`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      return received
    },
    stop: async () => {
      for (const timer of timers) clearInterval(timer)
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A self-signed certificate for these names. */
export function makeCertificate(...names: readonly string[]): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-certificate-'))
  try {
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
    const alternatives = names.map((name) => `DNS:${name}`).join(',')
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    args.push('-keyout', key, '-out', cert, '-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${alternatives}`)
    execFileSync('openssl', args, { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    removeFolder(folder)
  }
}
