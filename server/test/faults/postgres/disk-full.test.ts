/** docs/operations.md, "When PostgreSQL or Redis is unavailable": PostgreSQL's disk is full, then there is room again. */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { type CodeRecord, Device } from '../../rig/device.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { type OwnPostgres, startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { type MadeUser, makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'

useOwnTimeouts()

/** A new PostgreSQL with this schema takes half of it. */
const DISK = '256m'

/** Mounts a small disk there, or says why it cannot. */
function mountDisk(folder: string): string | null {
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', folder])
  return status === 0 ? null : (error?.message ?? String(stderr))
}

const SOON = { timeout: 20_000, interval: 200 }
const ROOT = process.getuid?.() === 0
if (!ROOT) console.log('disk-full.test.ts is skipped: only root may mount a disk')

describe.skipIf(!ROOT)('a full disk', () => {
  let disk = ''
  let postgres: OwnPostgres
  let context: Context
  let server: ServerProcess
  let device: Device
  let user: MadeUser
  beforeAll(async () => {
    postgres = await startOwnPostgres((folder) => {
      disk = folder
      const problem = mountDisk(folder)
      if (problem !== null) throw new Error(problem)
    })
    context = await createContext(makeConfig({ DATABASE_URL: postgres.url }))
    const account = await makeAccount(context.db)
    const application = await makeApplication(context.db, context.config, account.slug)
    user = await makeUser(context.db, account.slug)
    server = await startServerProcess({ DATABASE_URL: postgres.url })
    device = new Device(server.address, application)
  })
  afterAll(async () => {
    await server.kill('SIGKILL')
    await closeContext(context)
    postgres.stop()
    spawnSync('umount', [disk])
    postgres.remove()
  })

  const fill = () => {
    const file = openSync(join(disk, 'filling'), 'w')
    try {
      for (;;) writeSync(file, Buffer.alloc(64 * 1024))
    } catch {
      // No room is left.
    } finally {
      closeSync(file)
    }
  }
  const empty = () => rmSync(join(disk, 'filling'))

  /** Codes until one is refused; each takes some room. */
  async function requestUntilRefused(): Promise<{ codes: CodeRecord[]; refusal: unknown }> {
    const codes: CodeRecord[] = []
    for (;;) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => device.request({ state: 'x'.repeat(1_000) })))
      codes.push(...answers.filter(({ status }) => status === 200).map(({ body }) => body))
      const refused = answers.find(({ status }) => status !== 200)
      if (refused) return { codes, refusal: [refused.status, refused.body.error] }
    }
  }
  const pending = ({ device_code }: CodeRecord) => device.poll(device_code).then(({ body }) => body.error)

  async function grantAndCollect({ user_code, device_code }: CodeRecord): Promise<number> {
    const entered = await enterUserCode(context, user.id, user_code)
    if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
    expect((await grantDeviceCode(context, user.id, entered.code)).outcome).toBe('granted')
    await expect.poll(async () => (await device.poll(device_code)).status, SOON).toBe(200)
    return (await device.poll(device_code)).status
  }

  it('F12: writes are answered 503 and polls go on; with room again everything goes on, and nothing is half done', async () => {
    fill()
    const { codes, refusal } = await requestUntilRefused()
    expect(refusal).toEqual([503, 'unavailable'])
    const some = codes.slice(-20)
    expect(await Promise.all(some.map(pending))).toEqual(some.map(() => 'auth_pending'))
    empty()
    await expect.poll(async () => (await device.request()).status, SOON).toBe(200)
    const stored = await context.db.query<{ count: number }>('select count(*)::int as count from device_codes')
    const last = await device.code()
    expect(stored.rows[0]?.count).toBeGreaterThan(codes.length)
    expect(await grantAndCollect(last)).toBe(400)
  })

  it('F12: without room for its log PostgreSQL stops; started with room again, it has every code that was answered', async () => {
    const before = await device.code()
    fill()
    const client = new pg.Client({ connectionString: postgres.url })
    client.on('error', () => {})
    await client.connect()
    const write = async () => {
      for (;;) {
        await client.query('select pg_switch_wal()')
        await client.query("select pg_logical_emit_message(true, 'filling', repeat('x', 1000000))")
      }
    }
    await write().catch(() => {})
    await client.end().catch(() => {})
    expect((await device.request()).body.error).toBe('unavailable')
    expect(await pending(before)).toMatch(/^(auth_pending|slow_down)$/)
    empty()
    postgres.stop()
    postgres.start()
    await expect.poll(async () => (await device.request()).status, SOON).toBe(200)
    expect(await grantAndCollect(before)).toBe(400)
    expect(server.log()).not.toContain('"event":"unexpected"')
  })
})
