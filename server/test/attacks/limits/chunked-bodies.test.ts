/** A body in many small chunks costs no more than its length: it is read before anybody is authenticated. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ LOG_LEVEL: 'silent' })
})
afterAll(() => service.stop())

/** Milliseconds until the answer to a body in chunks of one byte. */
async function send(bytes: number): Promise<number> {
  const { hostname, port } = new URL(service.address)
  const socket = connect(Number(port), hostname)
  const head = `POST /manage/1/accounts HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n`
  const startedAt = performance.now()
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${'1\r\n7\r\n'.repeat(bytes)}0\r\n\r\n`)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /)
  return performance.now() - startedAt
}

it('ten times as many chunks take about ten times as long, not a hundred', async () => {
  await send(10_000)
  const ratios = []
  for (let round = 0; round < 3; round += 1) {
    const few = await send(10_000)
    ratios.push((await send(100_000)) / few)
  }
  expect(Math.min(...ratios)).toBeLessThan(25)
})
