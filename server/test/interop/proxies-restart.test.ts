/** A process is replaced behind each of the proxies that we hand out, and no client notices. docs/operations.md, "Drain and rolling restart". */
import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Certificate, makeCertificate } from '../rig/receiver.ts'
import { type ServerProcess, startServerProcess } from '../rig/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { findFreePort } from './ports.ts'
import { ask } from './proxy-client.ts'
import { PROXIES, startProxy } from './proxy-process.ts'

const CLIENTS = 8

/**
 * HAProxy and Caddy ask who is ready, and send a process that leaves nothing more. nginx does not ask: a request that it sends in
 * the instant in which the process stops listening is lost, and nginx does not send a form twice (docs/install.md, "Behind a proxy").
 */
const LOST_AT_MOST = { nginx: 5, haproxy: 0, caddy: 0 }

let certificate: Certificate
let service: TestService
beforeAll(async () => {
  certificate = makeCertificate('service.example', '*.service.example')
  service = await startTestService({}, { listen: false })
})
afterAll(() => service?.stop())

it.concurrent.each(PROXIES)(
  'behind %s, one of two processes stops, another takes its place, and requests are answered',
  async (kind) => {
    const port = await findFreePort()
    const spare = await findFreePort()
    const environment = {
      DATABASE_URL: service.database.url,
      PUBLIC_URL: `https://service.example:${port}`,
      TRUST_PROXY: '127.0.0.1',
      // As it comes.
      DRAIN_SECONDS: '5',
    }
    const servers = await Promise.all(
      [spare, 0].map((each) => startServerProcess({ ...environment, PORT: String(each) })),
    )
    const upstreams = servers.map(({ address }) => new URL(address).host)
    const proxy = await startProxy(kind, { listen: `127.0.0.1:${port}`, upstreams, certificate })
    const seen: Record<string, number> = {}
    let done = false
    const clients = Array.from({ length: CLIENTS }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      while (!done) {
        const outcome = await askForCode(port, agent)
        seen[outcome] = (seen[outcome] ?? 0) + 1
        await sleep(20)
      }
      agent.destroy()
    })

    await sleep(1_000)
    const [first, second] = servers as [ServerProcess, ServerProcess]
    await first.kill('SIGTERM')
    await sleep(500)
    const replacement = await startServerProcess({ ...environment, PORT: String(spare) })
    // Long enough for a proxy that asks every two seconds, and that forgets a failure after two.
    await sleep(3_000)
    await second.kill('SIGTERM')
    done = true
    await Promise.all(clients)
    await proxy.stop()
    await replacement.kill('SIGKILL')
    const { 200: answered = 0, 502: lost = 0, ...others } = seen
    expect(others).toEqual({})
    expect(lost).toBeLessThanOrEqual(LOST_AT_MOST[kind])
    expect(answered).toBeGreaterThan(200)
  },
  90_000,
)

async function askForCode(port: number, agent: Agent): Promise<string> {
  const body = new URLSearchParams(service.device().credentials).toString()
  const sent = { host: 'service.example', body }
  const answer = ask({ port, certificate, agent }, '/auth/oauth/device/code', sent)
  return answer.then(
    ({ status }) => String(status),
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
}
