/** Idle connections are closed by the balancer, never by the service: it cannot reuse one that is being closed. */
import { Agent } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { ask } from '../../interop/proxy-client.ts'
import { startProxy } from '../../interop/proxy-process.ts'
import { type Certificate, makeCertificate } from '../../rig/network/receiver.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

/** HAProxy closes unused connections to a server after five seconds. */
const PAUSES_MS = [0, 4_900, 5_000, 5_100, 10_000]
const CLIENTS = 8

let certificate: Certificate
let service: TestService
beforeAll(async () => {
  certificate = makeCertificate('service.example', '*.service.example')
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())

it('F48: behind HAProxy, clients that pause for about as long as it keeps connections get every answer, and it is never the service that closes one', async () => {
  const port = await freePort()
  const server = await startServerProcess({
    DATABASE_URL: service.database.url,
    PUBLIC_URL: `https://service.example:${port}`,
    TRUST_PROXY: '127.0.0.1',
  })
  const closedBy = { balancer: 0, service: 0 }
  const between = createServer({ allowHalfOpen: true }, (balancer) => {
    const upstream = connect({ port: Number(new URL(server.address).port), host: '127.0.0.1', allowHalfOpen: true })
    // Health checks are HTTP/1.0, so that the service closes their connections.
    let counts = false
    balancer.on('data', (data) => {
      counts ||= data.includes('HTTP/1.1')
    })
    const countClosed = (side: keyof typeof closedBy) => {
      if (counts) closedBy[side] += 1
      counts = false
    }
    balancer.on('error', () => countClosed('balancer')).on('end', () => countClosed('balancer'))
    upstream.on('error', () => countClosed('service')).on('end', () => countClosed('service'))
    balancer.pipe(upstream).pipe(balancer)
  }).listen(0, '127.0.0.1')
  await sleep(50)
  const upstreams = [`127.0.0.1:${(between.address() as AddressInfo).port}`]
  const proxy = await startProxy('haproxy', { listen: `127.0.0.1:${port}`, upstreams, certificate })
  const body = `${new URLSearchParams(service.device().credentials)}`
  const seen = new Set<string>()
  const clients = Array.from({ length: CLIENTS }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const pause of PAUSES_MS) {
      await sleep(pause)
      const sent = { host: 'service.example', body }
      const answer = ask({ port, certificate, agent }, '/auth/oauth/device/code', sent)
      seen.add(
        await answer.then(
          ({ status }) => String(status),
          (error: Error) => error.message,
        ),
      )
    }
    agent.destroy()
  })
  await Promise.all(clients)
  expect([...seen]).toEqual(['200'])
  expect(closedBy.service).toBe(0)
  expect(closedBy.balancer).toBeGreaterThan(0)
  await proxy.stop()
  between.close()
  await server.kill('SIGTERM')
})
