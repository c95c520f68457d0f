/**
 * Pending polls per second through the real server with the Redis gate, against a bare node:http server that reads the same form
 * and gives the same reply: status, headers and length are copied from an answer of the real one.
 *
 *   npm run bench:poll
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Device } from '../server/test/rig/device.ts'
import { engineUrl } from '../server/test/rig/engines/database.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService } from '../server/test/rig/service.ts'
import { startEngines } from '../tools/engines.ts'
import { alternate, CONNECTIONS, pollingScript, replyOf, startBareServer } from './against-bare.ts'
import { judge, type Measured } from './judge.ts'
import { redisPid } from './machine.ts'

const CODES = 5_000
const PATH = '/auth/oauth/device/polling'

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

const service = await startTestService({}, { listen: false })
try {
  await judge('poll', measure, service.database)
} finally {
  await service.stop()
}

async function measure(): Promise<Measured> {
  const server = await startServerProcess({ DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL') })
  let bare: Awaited<ReturnType<typeof startBareServer>> | null = null
  try {
    const forms = await requestCodes(server.address)
    const reply = await replyOf(server.address, PATH, {
      raw: forms[0] ?? '',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    const load = {
      path: PATH,
      requests: pollingScript(forms),
      expected: "status == 400 and (body:find('auth_pending') or body:find('slow_down'))",
      refused: 'all',
    } as const
    bare = await startBareServer(reply)
    const ours = { address: server.address, pids: [server.pid, await redisPid()] }
    return { connections: CONNECTIONS, codes: forms.length, ...alternate(ours, bare, load), missed: [] }
  } finally {
    bare?.stop()
    await server.kill('SIGTERM')
  }
}

async function requestCodes(address: string): Promise<string[]> {
  const device = new Device(address, service.application)
  const forms: string[] = []
  // The server pulls a new application within a second.
  while ((await device.request()).status !== 200) await sleep(100)
  while (forms.length < CODES) {
    const codes = await Promise.all(Array.from({ length: 50 }, () => device.code()))
    for (const { device_code } of codes) forms.push(`${new URLSearchParams({ ...device.credentials, device_code })}`)
  }
  return forms
}
