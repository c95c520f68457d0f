/**
 * Two processes behind HAProxy with its reference configuration are replaced in turn under load. Prints one line, and fails
 * if a request of a device was not answered as it should be, or a code was not delivered exactly once.
 *
 *   npm run verify -- restarts                 20 restarts
 *   npm run verify -- restarts --restarts 4
 *   npm run verify -- restarts --full          100 restarts
 */
import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../../tools/engines.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { ask } from '../../interop/proxy-client.ts'
import { startProxy } from '../../interop/proxy-process.ts'
import type { WireAnswer } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeUser } from '../../rig/make.ts'
import { makeCertificate } from '../../rig/network/receiver.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService } from '../../rig/service.ts'

const FAULT = 'F31'
const LANES = 8
/** HAProxy looks every two seconds, and has to find the new process before the other one leaves. */
const NOTICED_MS = 5_000

const { values } = parseArgs({
  options: { restarts: { type: 'string', default: '20' }, full: { type: 'boolean', default: false } },
})
const restarts = values.full ? 100 : Number(values.restarts)

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { listen: false })
const certificate = makeCertificate('service.example', '*.service.example')
const listen = await freePort()
const ports = [await freePort(), await freePort()]
const start = (port: number) =>
  startServerProcess({
    DATABASE_URL: service.database.url,
    REDIS_URL: engineUrl('REDIS_URL'),
    PUBLIC_URL: `https://service.example:${listen}`,
    TRUST_PROXY: '127.0.0.1',
    PORT: String(port),
    DRAIN_SECONDS: '5',
  })
const servers = await Promise.all(ports.map(start))
const upstreams = ports.map((port) => `127.0.0.1:${port}`)
const proxy = await startProxy('haproxy', { listen: `127.0.0.1:${listen}`, upstreams, certificate })

const problems: string[] = []
const counts = { requests: 0, delivered: 0 }
let over = false

/** A device, and the user who grants its codes: code, decision, delivery, two refreshes, and again. */
async function live(): Promise<void> {
  const user = await makeUser(service.context.db, service.account.slug)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = async (path: string, given: Record<string, string>): Promise<WireAnswer> => {
    const body = `${new URLSearchParams({ ...service.device().credentials, ...given })}`
    counts.requests += 1
    return ask({ port: listen, certificate, agent }, path, { host: 'service.example', body })
  }
  const demand = (answer: WireAnswer, what: string, wanted: string) => {
    const got = answer.status === 200 ? '200' : `${answer.status} ${answer.body.error}`
    if (got !== wanted) throw new Error(`${what}: ${got} instead of ${wanted}`)
  }
  while (!over) {
    try {
      const code = await send('/auth/oauth/device/code', {})
      demand(code, 'code request', '200')
      const { device_code, user_code } = code.body
      const outcome = await service.grant(user_code, user)
      if (outcome !== 'granted') throw new Error(`grant: ${outcome}`)
      let answer = await send('/auth/oauth/device/polling', { device_code })
      while (['auth_pending', 'slow_down'].includes(answer.body.error)) {
        await sleep(200)
        answer = await send('/auth/oauth/device/polling', { device_code })
      }
      demand(answer, 'delivery', '200')
      counts.delivered += 1
      for (let step = 0; step < 2; step += 1) {
        answer = await send('/auth/oauth/refresh', { refresh_token: answer.body.refresh_token })
        demand(answer, 'refresh', '200')
      }
      demand(await send('/auth/oauth/device/polling', { device_code }), 'poll of a delivered code', '400 invalid')
    } catch (error) {
      problems.push((error as Error).message)
    }
    await sleep(100)
  }
  agent.destroy()
}

try {
  const lanes = Array.from({ length: LANES }, live)
  await sleep(2_000)
  for (let restart = 0; restart < restarts; restart += 1) {
    const index = restart % servers.length
    await servers[index]?.kill('SIGTERM')
    servers[index] = await start(ports[index] ?? 0)
    await sleep(NOTICED_MS)
  }
  over = true
  await Promise.all(lanes)
  const [row] = await service.database.query<{ grants: number }>(
    "select count(*)::int as grants from grants g join device_codes d on d.id = g.device_code_id where d.status = 'used'",
  )
  if (row?.grants !== counts.delivered) problems.push(`${counts.delivered} delivered, ${row?.grants} in PostgreSQL`)
  for (const problem of new Set(problems)) console.error(`restarts: ${problem}`)
  console.log(
    `restarts: fault=${FAULT} restarts=${restarts} requests=${counts.requests} delivered=${counts.delivered} problems=${problems.length}`,
  )
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await proxy.stop()
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  await service.stop()
}
