/** The keys of the service: a file of them that is damaged, and processes that do not have the same list yet. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '../../../src/secrets/keyset.ts'
import { askVerify } from '../../races/issued-grants.ts'
import { postNative } from '../../rig/credentials.ts'
import { collect, Device } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeEnvironment, TEST_KEYS } from '../../rig/make.ts'
import { runCommand } from '../../rig/process/command.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const NEXT_KEY = createKey(2)

let service: TestService
let folder: string
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  folder = mkdtempSync(join(tmpdir(), 'latchkey-keys-'))
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true })
})

const file = () => join(folder, 'keys')

it.each([
  { fault: 'missing', damage: () => rmSync(file(), { force: true, recursive: true }) },
  { fault: 'empty', damage: () => writeFileSync(file(), '') },
  { fault: 'cut short', damage: () => writeFileSync(file(), TEST_KEYS.slice(0, -8)) },
  { fault: 'of other bytes', damage: () => writeFileSync(file(), Buffer.alloc(64, 0xff)) },
  { fault: 'with one key twice', damage: () => writeFileSync(file(), `${TEST_KEYS},${TEST_KEYS}`) },
  {
    fault: 'a folder',
    damage: () => {
      rmSync(file(), { force: true })
      mkdirSync(file())
    },
  },
])(
  'F39: a file of keys that is $fault: neither a process nor a supervisor starts, and the message names the setting',
  async ({ damage }) => {
    damage()
    const { LATCHKEY_KEYS: _keys, ...environment } = makeEnvironment({
      DATABASE_URL: service.database.url,
      LATCHKEY_KEYS_FILE: file(),
      LOG_LEVEL: 'info',
    })
    const ended = await Promise.all([
      runCommand(['serve'], { environment }),
      runCommand(['serve', '--processes', '2'], { environment }),
    ])
    for (const { status, stdout, stderr } of ended) {
      expect(status).toBe(2)
      expect(stderr).toContain('LATCHKEY_KEYS')
      expect(stderr).not.toContain(TEST_KEYS.slice(2, 10))
      expect(stdout).not.toContain('listening')
    }
    rmSync(file(), { force: true, recursive: true })
  },
)

it('F38: while keys are rotated, a process that still has the previous list accepts what others sign, and they what it signs', async ({
  onTestFinished,
}) => {
  // Of its own: after a rotation the old key alone accepts nothing any more.
  const settings = { REDIS_URL: engineUrl('REDIS_URL'), LATCHKEY_KEYS: `${TEST_KEYS},${NEXT_KEY}` }
  const rotating = await startTestService(settings, { listen: false })
  onTestFinished(() => rotating.stop())
  const [old, fresh] = [TEST_KEYS, NEXT_KEY]
  const start = (keys: readonly string[]) =>
    startServerProcess(
      {
        DATABASE_URL: rotating.database.url,
        REDIS_URL: engineUrl('REDIS_URL'),
        LATCHKEY_KEYS: keys.join(','),
      },
      { preload: LONG_TIMEOUTS },
    )
  // docs/operations/keys.md: first every process knows the new key, then it signs. One process is late at each step.
  const lists = [[old], [old, fresh], [fresh, old]]
  let servers: readonly ServerProcess[] = await Promise.all([start(lists[0] ?? []), start(lists[0] ?? [])])
  const failures: string[] = []
  const held: string[] = []
  let rounds = 0
  let over = false
  const at = (turn: number) => servers[turn % servers.length] as ServerProcess
  const use = async (turn: number): Promise<void> => {
    const check = async (by: ServerProcess, credential: string) => {
      const status = await askVerify(by.address, credential)
      if (status !== 200) failures.push(`check: ${status}`)
    }
    const device = (index: number) => new Device(at(index).address, rotating.application)
    const { device_code, user_code } = await device(turn).code()
    const outcome = await rotating.grant(user_code)
    if (outcome !== 'granted') return void failures.push(`grant: ${outcome}`)
    const { status, text, body } = await collect(device(turn + 1), device_code)
    if (status !== 200) return void failures.push(`delivery: ${status} ${text}`)
    await check(at(turn), body.access_token)
    const { refresh_token } = body
    const refreshed = await postNative(at(turn), rotating.application, '/auth/oauth/refresh', { refresh_token })
    if (refreshed.status !== 200) return void failures.push(`refresh: ${refreshed.status} ${refreshed.text}`)
    await check(at(turn + 1), refreshed.body.access_token)
    held.push(refreshed.body.refresh_token)
  }
  const load = Array.from({ length: 2 }, async (_, lane) => {
    for (let turn = lane; !over; turn += 1) {
      await use(turn).catch((error: Error) => failures.push(error.message))
      rounds += 1
    }
  })
  const pass = async () => {
    const before = rounds
    await expect.poll(() => rounds - before, { timeout: 60_000 }).toBeGreaterThan(4)
  }
  await pass()
  for (const list of lists.slice(1)) {
    for (const [index, previous] of servers.entries()) {
      const replacement = await start(list)
      servers = servers.with(index, replacement)
      await pass()
      await previous.kill('SIGTERM')
    }
  }
  over = true
  await Promise.all(load)
  for (const [turn, refresh_token] of held.entries()) {
    const { status } = await postNative(at(turn), rotating.application, '/auth/oauth/refresh', { refresh_token })
    if (status !== 200) failures.push(`a refresh token of before: ${status}`)
  }
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  expect([...new Set(failures)]).toEqual([])
}, 300_000)
