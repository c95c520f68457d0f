/** The name servers of the machine are silent: connections to the engines stay, and only a new one needs a name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { askVerify } from '../../races/issued-grants.ts'
import { collect, Device } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { type NameServer, startNameServer } from '../../rig/network/name-server.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

/** Port 53 of an address of this machine that nothing else uses. */
const NAME_SERVER = { address: `127.53.${(process.pid >> 8) & 255}.${process.pid & 255}`, port: 53 }
const ENGINES = 'engines.service.example'
const ROUNDS = 30

let service: TestService
let names: NameServer
let folder: string
let answers = true
const asked: string[] = []
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { listen: false })
  names = await startNameServer(({ name }) => {
    asked.push(name)
    return answers ? [name === ENGINES ? '127.0.0.1' : '198.51.100.1'] : null
  }, NAME_SERVER)
  folder = mkdtempSync(join(tmpdir(), 'latchkey-names-'))
  writeFileSync(join(folder, 'resolv.conf'), `nameserver ${NAME_SERVER.address}\noptions timeout:5 attempts:2\n`)
})
afterAll(async () => {
  await names.stop()
  await service.stop()
  rmSync(folder, { recursive: true })
})

const PATIENTLY = { timeout: 20_000 }

it(`F47: without name servers, ${ROUNDS} devices get their codes, decisions and credentials, and only new connections to the engines ask for a name`, async () => {
  answers = true
  const byName = (url: string) => url.replace('127.0.0.1', ENGINES)
  const mounted = `mount --bind '${folder}/resolv.conf' /etc/resolv.conf && exec "$@"`
  const server = await startServerProcess(
    { DATABASE_URL: byName(service.database.url), REDIS_URL: byName(engineUrl('REDIS_URL')) },
    { by: ['unshare', '--mount', 'sh', '-c', mounted, 'sh'] },
  )
  const device = new Device(server.address, service.application)
  const flow = async () => {
    // A request that needs a new connection gets 503, and is repeated.
    const requested = await vi.waitUntil(async () => {
      const answer = await device.request()
      return answer.status === 200 && answer
    }, PATIENTLY)
    const { device_code, user_code } = requested.body
    expect(await service.grant(user_code)).toBe('granted')
    const { body } = await collect(device, device_code)
    await expect.poll(() => askVerify(server.address, body.access_token), PATIENTLY).toBe(200)
  }
  await flow()
  expect(asked).toContain(ENGINES)
  answers = false
  asked.length = 0
  for (let round = 0; round < ROUNDS; round += 1) await flow()
  expect(asked.length, 'by new connections').toBeLessThan(ROUNDS)
  answers = true
  await expect.poll(async () => (await device.request()).status, { timeout: 20_000 }).toBe(200)
  await server.kill('SIGTERM')
})
