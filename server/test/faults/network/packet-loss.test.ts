/** A network that loses packets, between devices and a process and between the process and its engines: it only takes longer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { engineUrl } from '../../rig/engines/database.ts'
import { type FaultProxy, startFaultProxy } from '../../rig/network/fault-proxy.ts'
import { createLossyNetwork, type LossyNetwork } from '../../rig/network/lossy-network.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { startLoad } from '../load.ts'

const LOAD_MS = 3_000

const network = createLossyNetwork()
const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop()
  network?.remove()
})

/** A process in the namespace; its engines are reached over the same network. */
async function startFarAway(
  { namespace, inside, outside }: LossyNetwork,
  service: TestService,
): Promise<ServerProcess> {
  const proxy = async (url: string): Promise<string> => {
    const opened: FaultProxy = await startFaultProxy({ port: Number(new URL(url).port) }, { host: outside })
    stops.push(opened.stop)
    return url.replace(/127\.0\.0\.1:\d+/, `${outside}:${opened.port}`)
  }
  const environment = {
    HOST: inside,
    DATABASE_URL: await proxy(service.database.url),
    REDIS_URL: await proxy(engineUrl('REDIS_URL')),
    POLL_INTERVAL: '1',
  }
  const server = await startServerProcess(environment, { by: ['ip', 'netns', 'exec', namespace] })
  stops.push(() => server.kill('SIGKILL'))
  return server
}

describe.skipIf(network === null)('a network that loses packets', () => {
  it.each([1, 5, 20])('F25: %i of a hundred: every code has its outcome, once, and nothing fails', async (percent) => {
    if (network === null) return
    const service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL'), POLL_INTERVAL: '1' })
    stops.push(service.stop)
    const server = await startFarAway(network, service)
    network.lose(percent)
    const { context, application, user } = service
    const load = startLoad({ addresses: [server.address], application, context, user })
    await sleep(LOAD_MS)
    expect(await load.finish()).toEqual([])
    expect(load.totals().collected).toBeGreaterThan(0)
    network.lose(0)
  })
})
