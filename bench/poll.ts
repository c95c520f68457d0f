/**
 * Pending polls through the real server, with the gate in Redis or in process, against a bare node:http server that reads
 * the same form and gives the same reply: status, headers and length are copied from an answer of the real one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Device } from '../server/test/rig/device.ts'
import { engineUrl } from '../server/test/rig/engines/database.ts'
import type { MadeApplication } from '../server/test/rig/make.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import { CONNECTIONS, compareWithBare, cpuSeconds, formOf, postingScript } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { redisPid } from './machine.ts'

const CODES = 5_000
export const POLLING = '/auth/oauth/device/polling'

export function benchPoll(gate: 'redis' | 'process'): Benchmark {
  return async (run) => {
    const service = await startTestService({}, { listen: false })
    try {
      await run({ measure: () => measure(service, gate === 'redis'), database: service.database })
    } finally {
      await service.stop()
    }
  }
}

async function measure({ database, application }: TestService, withRedis: boolean): Promise<Measured> {
  const redis = withRedis ? { REDIS_URL: engineUrl('REDIS_URL') } : {}
  const server = await startServerProcess({ DATABASE_URL: database.url, ...redis })
  const pids = withRedis ? [server.pid, await redisPid()] : [server.pid]
  try {
    const forms = await requestForms(server.address, application, CODES)
    const load = {
      path: POLLING,
      requests: postingScript(forms),
      expected: "status == 400 and (body:find('auth_pending') or body:find('slow_down'))",
      refused: 'all',
    } as const
    const ours = { address: server.address, cpuSeconds: () => cpuSeconds(pids) }
    const compared = await compareWithBare(ours, load, formOf(forms[0] ?? ''))
    return { connections: CONNECTIONS, codes: forms.length, ...compared, missed: [] }
  } finally {
    await server.kill('SIGTERM')
  }
}

/** Forms that poll new codes. */
export async function requestForms(address: string, application: MadeApplication, count: number): Promise<string[]> {
  const device = new Device(address, application)
  const forms: string[] = []
  // The server pulls a new application within a second.
  while ((await device.request()).status !== 200) await sleep(100)
  while (forms.length < count) {
    const codes = await Promise.all(Array.from({ length: 50 }, () => device.code()))
    for (const { device_code } of codes) forms.push(`${new URLSearchParams({ ...device.credentials, device_code })}`)
  }
  return forms
}
