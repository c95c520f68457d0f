/** Requests for device codes, each of which inserts a row, against a bare node:http server with the same reply. */
import { engineUrl } from '../server/test/rig/engines/database.ts'
import { startServerProcess } from '../server/test/rig/process/server-process.ts'
import { startTestService, type TestService } from '../server/test/rig/service.ts'
import { CONNECTIONS, compareWithBare, cpuSeconds, cpuSecondsOfTree, formOf, postingScript } from './against-bare.ts'
import type { Benchmark, Measured } from './judge.ts'
import { postgresPid, redisPid } from './machine.ts'
import { requestForms } from './poll.ts'

export const benchCode: Benchmark = async (run) => {
  const service = await startTestService({}, { listen: false })
  try {
    await run({ measure: () => measure(service), database: service.database })
  } finally {
    await service.stop()
  }
}

async function measure({ database, application }: TestService): Promise<Measured> {
  const server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') })
  const pids = [server.pid, await redisPid()]
  const postgres = await postgresPid(database)
  try {
    // The first code is answered when the server knows the application.
    await requestForms(server.address, application, 1)
    const form = `${new URLSearchParams({ SVCappid: application.id, SVCsecret: application.secret })}`
    const load = {
      path: '/auth/oauth/device/code',
      requests: postingScript([form]),
      expected: "status == 200 and body:find('device_code')",
      refused: 'none',
    } as const
    const ours = { address: server.address, cpuSeconds: () => cpuSeconds(pids) + cpuSecondsOfTree(postgres) }
    return { connections: CONNECTIONS, ...(await compareWithBare(ours, load, formOf(form))), missed: [] }
  } finally {
    await server.kill('SIGTERM')
  }
}
