/** Shutdown of the HTTP server: clients connected by then are answered. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const CLIENTS = 5

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())

/** In a worker thread: connects and sends requests while the server's thread is blocked. Reports each answer. */
const CLIENT_THREAD = `
  const { connect } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const sent = new Int32Array(workerData.sent)
  parentPort.once('message', () => {
    const answers = Array.from({ length: workerData.clients }, () => new Promise((resolve) => {
      let text = ''
      const socket = connect(workerData.port, '127.0.0.1')
      socket.on('connect', () => socket.write('GET /health/live HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n', () => {
        Atomics.add(sent, 0, 1)
        Atomics.notify(sent, 0)
      }))
      socket.on('data', (data) => { text += data })
      socket.on('error', (error) => resolve(error.code))
      socket.on('end', () => resolve(text.split('\\r\\n')[0]))
    }))
    Promise.all(answers).then((all) => parentPort.postMessage(all))
  })`

it('answers connections in the accept backlog when it stops listening', async () => {
  const server = createHttpServer(service.context, false)
  const port = Number(new URL(await server.listen('127.0.0.1', 0)).port)
  const sent = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(CLIENT_THREAD, { eval: true, workerData: { port, clients: CLIENTS, sent: sent.buffer } })
  const answers = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  server.drain('stop')
  // As in production: a timer ends draining, and closing starts in the same turn of the event loop.
  await sleep(1)
  worker.postMessage('connect')
  for (let count = 0; count < CLIENTS; count = Atomics.load(sent, 0)) {
    if (Atomics.wait(sent, 0, count, 10_000) === 'timed-out') throw new Error('the clients could not connect')
  }
  await server.close()
  expect(await answers).toEqual(Array.from({ length: CLIENTS }, () => 'HTTP/1.1 200 OK'))
  await worker.terminate()
})
