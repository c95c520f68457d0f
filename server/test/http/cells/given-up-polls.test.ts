/** Polls that another cell holds when this process stops, and what becomes of an answer that is on its way. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createForwarder } from '../../../src/http/cells/forward.ts'
import { post } from '../../rig/device.ts'
import { makeConfig } from '../../rig/make.ts'

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A process that forwards every request to a cell, and answers `here` if it has to. */
async function startForwarding(cell: (socket: Socket) => void) {
  const counted: string[] = []
  const heldMs: number[] = []
  const statuses: number[] = []
  const asked = Promise.withResolvers<void>()
  const other = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}).once('data', () => asked.resolve())
    cell(socket)
  })
  const to = { id: 2, name: 'two', address: await listen(other), home: false }
  const map = { version: 1, cells: new Map([[2, to]]), buckets: new Map(), prefixes: [], accountBuckets: new Map() }
  const { keys } = makeConfig({ DATABASE_URL: 'postgres://unused' })
  const forwarder = createForwarder(
    { own: 1, map: () => map, prefixes: () => [], cellOfAccount: () => to },
    keys,
    Date.now,
    {
      add: (outcome = '') => void counted.push(outcome),
      family: () => ({ name: '', help: '', type: 'counter', samples: [] }),
    },
  )
  const address = await listen(
    createHttpServer((request, response) => {
      const answerHere = async () => void response.end('here')
      const about = { to, target: '/', requestId: 'id', address: null, body: Buffer.alloc(0) }
      const onHeld = (ms: number) => void heldMs.push(ms)
      const forwarded = forwarder.forward({ ...about, request, response, answerHere, onHeld })
      void forwarded.then(() => statuses.push(response.statusCode))
    }),
  )
  const client = new AbortController()
  const answer = post(address, '/', { headers: { prefer: 'wait=20' }, signal: client.signal })
  await asked.promise
  return { forwarder, counted, heldMs, statuses, client, answer }
}

test('an answer that was sent before the other cell hears that we stop is passed on', async () => {
  const { forwarder, counted, heldMs, answer } = await startForwarding((socket) =>
    socket.on('end', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nthere')),
  )
  forwarder.stopHolding()
  expect(await answer).toMatchObject({ status: 200, text: 'there' })
  expect(counted).toEqual(['answered'])
  // The answer does not say that it was held.
  expect(heldMs).toEqual([])
})

test('a poll is answered within a second, also if a proxy does not tell the other cell that we stop', async () => {
  const { forwarder, counted, heldMs, answer } = await startForwarding(() => {})
  const begun = performance.now()
  forwarder.stopHolding()
  expect(await answer).toMatchObject({ status: 200, text: 'here' })
  expect(performance.now() - begun).toBeLessThan(1_000)
  expect(counted).toEqual(['abandoned'])
  // How long the other cell still needs is not known: all of it counts as held.
  expect(heldMs).toHaveLength(1)
  expect(heldMs[0]).toBeGreaterThan(400)
})

test('an answer that the other cell breaks off is a failure', async () => {
  const { counted, answer } = await startForwarding((socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nth', () => setTimeout(() => socket.destroy(), 50)),
    ),
  )
  await expect(answer).rejects.toThrow()
  await expect.poll(() => counted).toEqual(['failed'])
})

test('a request whose client leaves is recorded as closed by the client', async () => {
  const { counted, statuses, client, answer } = await startForwarding(() => {})
  client.abort()
  await expect(answer).rejects.toThrow()
  await expect.poll(() => statuses).toEqual([499])
  expect(counted).toEqual(['abandoned'])
})
