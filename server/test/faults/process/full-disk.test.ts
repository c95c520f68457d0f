/** The disk of the log is full: what is not logged is lost, and nothing else. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { accepting } from '../../interop/accepting.ts'
import { Device, post } from '../../rig/device.ts'
import { makeEnvironment } from '../../rig/make.ts'
import { EXECUTABLE } from '../../rig/process/command.ts'
import { spawnTied } from '../../rig/process/tied-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const DISK_KILOBYTES = 64

let service: TestService
let folder: string
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  folder = mkdtempSync(join(tmpdir(), 'latchkey-full-disk-'))
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true })
})

it.each([
  { how: 'one process', several: [] },
  { how: 'a supervisor and its processes', several: ['--processes', '2'] },
])(
  'F46: with a full disk for its log, $how answer and audit as usual, log again when there is space, and end when told to',
  async ({ several }) => {
    const port = await freePort()
    // In a mount namespace of its own, which ends with the process.
    const mounted = `mount -t tmpfs -o size=${DISK_KILOBYTES}k tmpfs '${folder}' && exec "$@" >'${folder}/log'`
    const args = ['--mount', 'sh', '-c', mounted, 'sh', process.execPath, EXECUTABLE, 'serve', ...several]
    const child = spawnTied('KILL', 'unshare', args, {
      env: {
        PATH: process.env.PATH,
        ...makeEnvironment({ DATABASE_URL: service.database.url, PORT: String(port), LOG_LEVEL: 'debug' }),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const exited = once(child, 'exit')
    const disk = `/proc/${child.pid}/root${folder}`
    const logged = () => readFileSync(`${disk}/log`, 'utf8')
    await accepting(`127.0.0.1:${port}`)
    const device = new Device(`http://127.0.0.1:${port}`, service.application)
    await expect.poll(logged, { timeout: 20_000 }).toContain('"event":"listening"')

    expect(() => writeFileSync(`${disk}/other`, Buffer.alloc(DISK_KILOBYTES * 1024))).toThrow('ENOSPC')
    const full = logged()
    const before = await issuedSoFar()
    const issued = []
    for (let round = 0; round < 200; round += 1) {
      const { device_code, user_code } = await device.code()
      if (round % 20 === 0) issued.push({ device_code, outcome: await service.grant(user_code) })
      expect((await post(device.address, '/health/ready', { method: 'GET' })).status).toBe(200)
    }
    for (const { device_code, outcome } of issued) {
      expect([outcome, (await device.poll(device_code)).status]).toEqual(['granted', 200])
    }
    expect(logged().length - full.length, 'more than an end of a page').toBeLessThan(4_096)
    expect((await issuedSoFar()) - before, 'audited').toBe(issued.length)

    rmSync(`${disk}/other`)
    await expect
      .poll(async () => {
        await device.poll('lkd_nonsense')
        return logged().length
      })
      .toBeGreaterThan(full.length + 8_192)

    expect(() => writeFileSync(`${disk}/other`, Buffer.alloc(DISK_KILOBYTES * 1024))).toThrow('ENOSPC')
    await device.poll('lkd_nonsense')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
)

async function issuedSoFar(): Promise<number> {
  return (await service.database.query("select from audit_events where kind = 'grant.issued'")).length
}
