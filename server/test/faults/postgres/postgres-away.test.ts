/**
 * docs/interface/limits.md, "When PostgreSQL or Redis is unavailable":
 * without PostgreSQL no final outcome of a code is answered.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { Device } from '../../rig/device.ts'
import { gates } from '../../rig/engines/gates.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { type OwnPostgres, startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import {
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeConfig,
  makeUser,
} from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'

useOwnTimeouts()

const INTERVAL_MS = 1_000
/** Long enough to decide on a busy machine. */
const LIFETIME_MS = 7_000

const settings = { POLL_INTERVAL: String(INTERVAL_MS / 1000), DEVICE_CODE_LIFETIME: String(LIFETIME_MS / 1000) }

let postgres: OwnPostgres
let context: Context
let application: MadeApplication
let user: MadeUser
beforeAll(async () => {
  postgres = await startOwnPostgres()
  const config = makeConfig({ DATABASE_URL: postgres.url, ...settings })
  context = await createContext(config)
  const account = await makeAccount(context.db)
  application = await makeApplication(context.db, config, account.slug)
  user = await makeUser(context.db, account.slug)
})
afterAll(async () => {
  await closeContext(context)
  postgres.remove()
})

async function decide(userCode: string, decision: typeof grantDeviceCode | typeof rejectDeviceCode): Promise<string> {
  const entered = await enterUserCode(context, user.id, userCode)
  if (entered.outcome !== 'claimed') return entered.outcome
  return (await decision(context, user.id, entered.code)).outcome
}

const faults = [
  { fault: 'stopped', begin: () => postgres.stop(), end: () => postgres.start() },
  { fault: 'hung', begin: () => postgres.freeze(), end: () => postgres.thaw() },
]

/** A service with each gate, both on the PostgreSQL that is stopped. */
let servers: readonly ServerProcess[] = []
beforeAll(async () => {
  const each = gates.slice(0, 2).map(({ environment }) => environment())
  servers = await Promise.all(
    each.map((gate) => startServerProcess({ DATABASE_URL: postgres.url, ...settings, ...gate })),
  )
})
afterAll(() => Promise.all(servers.map((server) => server.kill('SIGKILL'))))

type Waiting = { readonly device: Device; readonly deviceCode: string }

async function said({ device, deviceCode }: Waiting): Promise<string> {
  const { status, body } = await device.poll(deviceCode)
  return status === 200 ? 'accepted' : body.error
}

/** Four codes: granted and not polled, rejected and not polled, pending, and used. */
async function fourCodes(server: ServerProcess): Promise<readonly Waiting[]> {
  const device = new Device(server.address, application)
  const codes = []
  for (let count = 0; count < 4; count += 1) codes.push(await device.code())
  const [granted, rejected, , used] = codes.map((code) => code.user_code)
  const waiting = codes.map((code) => ({ device, deviceCode: code.device_code }))
  expect(await decide(used ?? '', rejectDeviceCode)).toBe('rejected')
  expect(await said(waiting[3] as Waiting)).toBe('auth_rejected')
  expect(await said(waiting[2] as Waiting)).toBe('auth_pending')
  expect(await decide(granted ?? '', grantDeviceCode)).toBe('granted')
  expect(await decide(rejected ?? '', rejectDeviceCode)).toBe('rejected')
  return waiting
}

const NOT_YET = ['auth_pending', 'slow_down']

it.each(faults)(
  'a code that passes its expiry while PostgreSQL is $fault is auth_pending until PostgreSQL is back, then what became of it',
  async ({ begin, end }) => {
    const codes = (await Promise.all(servers.map(fourCodes))).flat()
    const asked = performance.now()
    begin()
    try {
      await sleep(asked + LIFETIME_MS + INTERVAL_MS - performance.now())
      // Each was last polled more than an interval ago, or never.
      expect(await Promise.all(codes.map(said))).toEqual(codes.map(() => 'auth_pending'))
      for (const word of await Promise.all(codes.map(said))) expect(NOT_YET).toContain(word)
    } finally {
      end()
    }
    const outcomes = new Map<Waiting, string>()
    const collect = async () => {
      for (const code of codes) {
        if (NOT_YET.includes(outcomes.get(code) ?? 'auth_pending')) outcomes.set(code, await said(code))
      }
      return codes.map((code) => outcomes.get(code))
    }
    const each = ['accepted', 'auth_rejected', 'auth_expired', 'invalid']
    await expect.poll(collect, { timeout: 30_000, interval: INTERVAL_MS / 4 }).toEqual([...each, ...each])
    expect(await Promise.all(codes.map(said))).toEqual(codes.map(() => 'invalid'))
  },
  60_000,
)

it('a held poll of a code that was decided before PostgreSQL stopped is answered as soon as PostgreSQL is back, not at the end of its time', async () => {
  const codes = await Promise.all(
    servers.map(async ({ address }) => {
      const device = new Device(address, application)
      return { device, code: await device.code() }
    }),
  )
  const askedAt = performance.now()
  for (const { code } of codes) expect(await decide(code.user_code, grantDeviceCode)).toBe('granted')
  // Until the announcement has passed.
  await sleep(INTERVAL_MS)
  postgres.stop()
  const held = codes.map(({ device, code }) => device.poll(code.device_code, { prefer: 'wait=25' }))
  await sleep(INTERVAL_MS)
  postgres.start()
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
  expect(performance.now() - askedAt).toBeLessThan(LIFETIME_MS - INTERVAL_MS)
})

it('a read-only standby that lacks the newest codes answers no final outcome of them', async () => {
  const device = new Device(servers[0]?.address ?? '', application)
  const waiting = { device, deviceCode: (await device.code()).device_code }
  const standby = async (on: boolean) => {
    const name = new URL(postgres.url).pathname.slice(1)
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    client.on('error', () => {})
    await client.query('set default_transaction_read_only = off')
    if (on) await client.query("delete from device_codes where status = 'pending'")
    await client.query(`alter database ${name} set default_transaction_read_only = ${on ? 'on' : 'off'}`)
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()')
    await client.end()
  }
  await standby(true)
  await sleep(INTERVAL_MS)
  expect(await said(waiting)).toBe('auth_pending')
  await standby(false)
  await expect.poll(() => said(waiting), { timeout: 30_000 }).toBe('invalid')
})
