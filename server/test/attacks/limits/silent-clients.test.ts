/** RL-14: clients that send requests and never read. Buffered answers and their lifetime are bounded. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post } from '../../rig/device.ts'
import { residentMb, type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'

let service: TestService
let server: ServerProcess
let port: number
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  server = await startServerProcess({ DATABASE_URL: service.database.url })
  port = Number(new URL(server.address).port)
  await post(server.address, '/openapi.json', { method: 'GET' })
})
afterAll(async () => {
  await server.kill('SIGTERM')
  await service.stop()
})

/** The longest answer of the service: hundreds of kilobytes. */
const LONG = 'GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n'

async function silent(clients: number, requests: string): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let client = 0; client < clients; client += 1) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(requests)
    sockets.push(socket)
    if (client % 50 === 0) await sleep(20)
  }
  return sockets
}

/** Open connections of the server, as the kernel sees them. */
function openConnections(): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from, , state]) => from?.endsWith(local) && state === '01').length
}

async function until(holds: () => boolean, seconds: number): Promise<boolean> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(250))
    if (holds()) return true
  return holds()
}

const GREEDY_CLIENTS = sized(300, 100)
const SILENT_CLIENTS = sized(5_000, 2_000)

describe('clients that do not read', () => {
  it('RL-14: a client that pipelines a thousand requests and reads nothing is disconnected, and answers do not accumulate', async () => {
    const before = residentMb(server.pid)
    const sockets = await silent(GREEDY_CLIENTS, LONG.repeat(1_000))
    expect(await until(() => openConnections() < GREEDY_CLIENTS / 10, 45), `${openConnections()} are open`).toBe(true)
    expect(residentMb(server.pid) - before, 'megabytes more').toBeLessThan(300)
    expect((await post(server.address, '/health/live', { method: 'GET' })).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  })

  it(`RL-14: ${figure(SILENT_CLIENTS)} clients that send one request each and read nothing cost little, and others are served`, async () => {
    const before = residentMb(server.pid)
    const begun = performance.now()
    const sockets = await silent(SILENT_CLIENTS, LONG)
    // Silent clients are disconnected after half a minute: a slow machine never holds all of them at once.
    const isFast = performance.now() - begun < 10_000
    const enough = (isFast ? 0.9 : 0.2) * SILENT_CLIENTS
    expect(await until(() => openConnections() >= enough, 25), `${openConnections()} are open`).toBe(true)
    const code = await post(server.address, '/auth/oauth/device/code', { form: service.device().credentials })
    expect(code.status).toBe(200)
    const poll = { ...service.device().credentials, device_code: code.body.device_code }
    expect((await post(server.address, '/auth/oauth/device/polling', { form: poll })).body.error).toBe('auth_pending')
    expect(residentMb(server.pid) - before, 'megabytes more').toBeLessThan(sized(300, 150))
    for (const socket of sockets) socket.destroy()
  })

  it('RL-14: a connection that stalls within a request or answer is closed after half a minute', async () => {
    const accepted: Socket[] = []
    const watch = (message: unknown) => void accepted.push((message as { socket: Socket }).socket)
    const here = await startTestService()
    subscribe('net.server.socket', watch)
    const client = connect(Number(new URL(here.address).port), '127.0.0.1')
    try {
      client.write('POST /auth/oauth/device/code HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nS')
      await until(() => accepted.length > 0, 5)
      expect(accepted.map(({ timeout }) => timeout)).toEqual([30_000])
      // Node closes a connection on timeout by itself, unless there is a listener; there is none.
      accepted[0]?.setTimeout(1)
      expect(await until(() => accepted[0]?.destroyed === true, 5)).toBe(true)
    } finally {
      unsubscribe('net.server.socket', watch)
      client.destroy()
      await here.stop()
    }
  })

  it('a client that pipelines a little and reads is served, in order', async () => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
    socket.write(ask('/health/live') + ask('/health/ready') + ask('/nothing') + ask('/health/live'))
    await until(() => text.split('HTTP/1.1 ').length === 5, 5)
    expect(Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual(['200', '200', '404', '200'])
    socket.destroy()
  })
})
