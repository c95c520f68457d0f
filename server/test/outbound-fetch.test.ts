/** Documents that the service reads from an address that a third party chose: an identity provider's. AD-03. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createOutbound, type OutboundSettings } from '../src/outbound.ts'
import { startNameServer } from './rig/network/name-server.ts'

const outbound = (given: Partial<OutboundSettings> = {}) =>
  createOutbound({ allowPrivate: false, dnsServers: [], ...given })
const open = () => outbound({ allowPrivate: true })

const GET = { method: 'GET', headers: { accept: 'application/json' }, body: null } as const
const LIMITS = { maxBytes: 1_000, timeoutMs: 2_000 }

test('a document is returned with its status and type, also if it is a redirect', async () => {
  const server = createServer((socket) => {
    socket.end(
      'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { body, ...rest } = (await open().fetch(`http://127.0.0.1:${port}/`, GET, LIMITS)) as { body: Buffer }
  expect(rest).toEqual({ status: 302, type: 'application/json' })
  expect(body.toString()).toBe('{}')
  server.close()
})

test('a document is given up when it is too large, too slow or cut off', async () => {
  const answers: Record<string, (socket: Socket) => void> = {
    too_large: (socket) => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n${'x'.repeat(1_001)}`),
    timeout: (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nxx'),
    broken: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nxx'),
  }
  for (const [error, answer] of Object.entries(answers)) {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}))
      socket.once('data', () => answer(socket))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await open().fetch(`http://127.0.0.1:${port}/`, GET, LIMITS)).toEqual({ error })
    for (const each of sockets) each.destroy()
    server.close()
  }
})

test('a document is not asked for at an address that is not public', async () => {
  expect(await outbound().fetch('https://169.254.169.254/', GET, LIMITS)).toEqual({ error: 'private' })
  expect(await outbound().fetch('http://idp.example/', GET, LIMITS)).toEqual({ error: 'scheme' })
  const names = await startNameServer(() => ['10.0.0.1'])
  onTestFinished(names.stop)
  const way = outbound({ dnsServers: [names.address] })
  expect(await way.fetch(`https://idp.receiver.example/`, GET, LIMITS)).toEqual({ error: 'private_address' })
})
