/** AP-22: an application with two secrets loses one of them under load. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { revokeOwnSecret } from '../../../src/flows/applications/own.ts'
import { rotateSecret } from '../../rig/create.ts'
import { post } from '../../rig/device.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'

const NODES = sized(4, 2)
const CLIENTS = sized(32, 4)
const SEEN_EVERYWHERE_MS = 2_000

let service: TestService
let nodes: ServerProcess[]
let kept: string
beforeAll(async () => {
  service = await startTestService()
  kept = await rotateSecret(service.context, service.application.id)
  const environment = { DATABASE_URL: service.database.url, CODE_REQUESTS_PER_NETWORK: '0', OVERLOAD_DELAY: '0' }
  nodes = await Promise.all(Array.from({ length: NODES }, () => startServerProcess(environment)))
})
afterAll(async () => {
  await Promise.all(nodes?.map((node) => node.kill('SIGTERM')) ?? [])
  await service?.stop()
})

it(`AP-22: under load on ${figure(NODES)} processes, a revoked secret is refused everywhere within two seconds, and the other one never`, async () => {
  const { id, secret: revoked } = service.application
  const use = async (node: ServerProcess, SVCsecret: string) =>
    (await post(node.address, '/auth/oauth/device/code', { form: { SVCappid: id, SVCsecret } })).status
  const [row] = await service.database.query<{ id: string }>(
    'select id from application_secrets where application_id = $1 order by created_at limit 1',
    [id],
  )
  const statuses = new Set<number>()
  let done = false
  const load = Array.from({ length: CLIENTS }, async (_each, client) => {
    while (!done) statuses.add(await use(nodes[client % NODES] as ServerProcess, kept))
  })
  expect(await Promise.all(nodes.map((node) => use(node, revoked)))).toEqual(nodes.map(() => 200))
  expect((await revokeOwnSecret(service.context, service.user.id, id, row?.id ?? '')).outcome).toBe('revoked')
  await sleep(SEEN_EVERYWHERE_MS)
  expect(await Promise.all(nodes.map((node) => use(node, revoked)))).toEqual(nodes.map(() => 401))
  done = true
  await Promise.all(load)
  expect([...statuses]).toEqual([200])
})
