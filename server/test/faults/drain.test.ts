/** A rolling restart: SIGTERM under load, and no request fails. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { engineUrl } from '../rig/database.ts'
import { post } from '../rig/device.ts'
import { type ServerProcess, startServerProcess } from '../rig/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
const environment = () => ({
  DATABASE_URL: service.database.url,
  REDIS_URL: engineUrl('REDIS_URL'),
  DRAIN_SECONDS: '2',
})
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(() => service.stop())

it('F31: processes are replaced one after the other under load, and every request is answered', async () => {
  const servers = await Promise.all([startServerProcess(environment()), startServerProcess(environment())])
  const balancer = balance(servers)
  const code = await service.device().code()
  const form = { ...service.device().credentials, device_code: code.device_code }
  let answered = 0
  const failures: string[] = []
  let done = false
  const clients = Array.from({ length: 20 }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!done) {
      try {
        const status = await pollOnce(agent, balancer.pick(), form)
        if (status === 400) answered += 1
        else failures.push(`status ${status}`)
      } catch (error) {
        failures.push((error as Error).message)
      }
      await sleep(5)
    }
    agent.destroy()
  })

  await sleep(500)
  for (const [index, old] of servers.entries()) {
    const replacement = await startServerProcess(environment())
    balancer.add(replacement)
    await old.kill('SIGTERM')
    servers[index] = replacement
    await sleep(300)
  }
  done = true
  await Promise.all(clients)
  balancer.stop()
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  expect(failures).toEqual([])
  expect(answered).toBeGreaterThan(500)
}, 60_000)

it('answers on kept connections carry Connection: close while draining, and /health/ready says no', async () => {
  const server = await startServerProcess(environment())
  expect((await post(server.address, '/health/ready', { method: 'GET' })).body).toEqual({ status: 'ready', gate: 'up' })
  const stopping = server.kill('SIGTERM')
  await sleep(200)
  const ready = await post(server.address, '/health/ready', { method: 'GET' })
  expect([ready.status, ready.headers.connection]).toEqual([503, 'close'])
  expect((await post(server.address, '/health/live', { method: 'GET' })).status).toBe(200)
  await stopping
  expect(server.log()).toContain('"event":"stopped"')
})

it('F32: a client that falls silent in the middle of its request does not keep the process from ending', async () => {
  const server = await startServerProcess({ ...environment(), DRAIN_SECONDS: '0' })
  const { hostname, port } = new URL(server.address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const head = 'POST /auth/oauth/device/code HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n'
  socket.write(`${head}content-length: 100\r\n\r\nS`)
  await sleep(200)
  await server.kill('SIGTERM')
  expect(server.log()).toContain('"event":"stopped"')
})

it('keeps an idle connection for longer than any usual balancer', async () => {
  const server = await startServerProcess(environment())
  const answer = await post(server.address, '/health/live', { method: 'GET' })
  expect(Number(/timeout=(\d+)/.exec(String(answer.headers['keep-alive']))?.[1])).toBeGreaterThan(65)
  await server.kill('SIGTERM')
})

/** What a balancer does: asks for readiness often, sends requests round robin to those that are ready. */
function balance(initial: readonly ServerProcess[]) {
  let all = [...initial]
  let ready = [...initial]
  let turn = 0
  const timer = setInterval(async () => {
    const checked = await Promise.all(
      all.map(async (server) => {
        const answer = await post(server.address, '/health/ready', { method: 'GET' }).catch(() => null)
        return answer?.status === 200 ? server : null
      }),
    )
    ready = checked.filter((server) => server !== null)
    all = all.filter((server) => ready.includes(server))
  }, 100)
  return {
    pick: () => {
      turn += 1
      return ready[turn % ready.length]?.address ?? ''
    },
    add: (server: ServerProcess) => {
      all = [...all, server]
    },
    stop: () => clearInterval(timer),
  }
}

function pollOnce(agent: Agent, address: string, form: Record<string, string>): Promise<number> {
  const body = new URLSearchParams(form).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${address}/auth/oauth/device/polling`, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
