/**
 * A process is replaced behind each proxy with its reference configuration. Behind HAProxy and Caddy no client notices; behind
 * nginx only requests at the instant when the process stops listening fail.
 * docs/operations/upgrade.md, "Drain and rolling restart".
 */
import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { type Certificate, makeCertificate } from '../rig/network/receiver.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { ask } from './proxy-client.ts'
import { startProxy } from './proxy-process.ts'

const CLIENTS = 8

/**
 * HAProxy and Caddy check readiness, and send nothing more to a draining process. nginx does not: it sends until connections
 * are refused, and does not retry a POST. A connection in the accept backlog when the process stops
 * listening is reset, and its request gets 502 (docs/install.md, "Behind a proxy"). That is at most one request per client,
 * and nearly always none: the process closes when the backlog is empty. A busy machine may interrupt it
 * right there.
 */
const LOST_BY_NGINX = CLIENTS

/** Before the exit: closing the listener, answering remaining requests, closing the pools. */
const INSTANT_MS = 1_500

let certificate: Certificate
let service: TestService
beforeAll(async () => {
  certificate = makeCertificate('service.example', '*.service.example')
  service = await startTestService({}, { listen: false })
})
afterAll(() => service?.stop())

it.concurrent.each([
  { kind: 'haproxy', holds: 'no client notices' },
  { kind: 'caddy', holds: 'no client notices' },
  { kind: 'nginx', holds: 'what is lost was sent as it stopped listening, and got 502' },
] as const)(
  'behind $kind, one of two processes stops, another takes its place: $holds',
  async ({ kind, holds }) => {
    const port = await freePort()
    const spare = await freePort()
    const environment = {
      DATABASE_URL: service.database.url,
      PUBLIC_URL: `https://service.example:${port}`,
      TRUST_PROXY: '127.0.0.1',
      // As it comes.
      DRAIN_SECONDS: '5',
      // Neither shedding nor a time limit is to refuse a request because this machine is busy.
      OVERLOAD_DELAY: '0',
    }
    const start = (settings: Record<string, string>) =>
      startServerProcess({ ...environment, ...settings }, { preload: LONG_TIMEOUTS })
    const servers = await Promise.all([spare, 0].map((each) => start({ PORT: String(each) })))
    const upstreams = servers.map(({ address }) => new URL(address).host)
    const proxy = await startProxy(kind, { listen: `127.0.0.1:${port}`, upstreams, certificate })
    const seen: Record<string, number> = {}
    const lostAt: number[] = []
    const exitedAt: number[] = []
    let done = false
    const clients = Array.from({ length: CLIENTS }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      while (!done) {
        const sentAt = performance.now()
        const outcome = await askForCode(port, agent)
        seen[outcome] = (seen[outcome] ?? 0) + 1
        if (outcome === '502') lostAt.push(sentAt)
        await sleep(20)
      }
      agent.destroy()
    })

    await sleep(1_000)
    const [first, second] = servers as [ServerProcess, ServerProcess]
    await first.kill('SIGTERM')
    exitedAt.push(performance.now())
    await sleep(500)
    const metricsPort = await freePort()
    const replacement = await start({ PORT: String(spare), METRICS_PORT: String(metricsPort) })
    // Proxies check health every two seconds, and later on a busy machine: wait for a request to arrive.
    await expect.poll(() => codesFrom(metricsPort), { timeout: 30_000 }).toBeGreaterThan(0)
    await second.kill('SIGTERM')
    exitedAt.push(performance.now())
    done = true
    await Promise.all(clients)
    await proxy.stop()
    await replacement.kill('SIGKILL')
    const { 200: answered = 0, 502: _lost, ...others } = seen
    expect(others).toEqual({})
    const lost = exitedAt.map((exit) => lostAt.filter((sent) => sent < exit && sent > exit - INSTANT_MS).length)
    expect(lostAt, 'at any other time').toHaveLength(lost.reduce((sum, count) => sum + count, 0))
    const max = holds === 'no client notices' ? 0 : LOST_BY_NGINX
    for (const count of lost) expect(count).toBeLessThanOrEqual(max)
    expect(answered).toBeGreaterThan(200)
  },
  90_000,
)

/** Number of codes that a process has issued. */
async function codesFrom(metricsPort: number): Promise<number> {
  const figures = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return Number(/^latchkey_code_requests_total\{outcome="requested"\} (\d+)/m.exec(figures)?.[1])
}

async function askForCode(port: number, agent: Agent): Promise<string> {
  const body = new URLSearchParams(service.device().credentials).toString()
  const sent = { host: 'service.example', body }
  const answer = ask({ port, certificate, agent }, '/auth/oauth/device/code', sent)
  return answer.then(
    ({ status }) => String(status),
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
}
