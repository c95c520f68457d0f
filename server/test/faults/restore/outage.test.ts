/**
 * docs/decisions/0062-lost-commits-are-proven.md: PostgreSQL is away for ten minutes, without a revocation journal, and a standby is
 * promoted. In the short form the clock of the standby is ten minutes ahead instead.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { makeAccessKey } from '../../../src/secrets/credentials.ts'
import { askVerify, placeIssuedGrant } from '../../races/issued-grants.ts'
import { type CodeRecord, Device, post } from '../../rig/device.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../../rig/engines/replicated-postgres.ts'
import {
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeConfig,
  makeUser,
} from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startSession } from '../../rig/signed-in.ts'
import { FULL_SIZE } from '../../rig/size.ts'

const AWAY_SECONDS = 600
if (FULL_SIZE) vi.setConfig({ testTimeout: 2 * AWAY_SECONDS * 1_000 })
const settings = { POLL_INTERVAL: '1', DEVICE_CODE_LIFETIME: '1800' }

/** The processes may take half a minute to say what they know. */
const SOON = { timeout: 60_000, interval: 200 }

let postgres: ReplicatedPostgres
let context: Context
let servers: ServerProcess[]
let account: { readonly id: string; readonly slug: string }
let application: MadeApplication
let user: MadeUser
let code: CodeRecord
let accessKey: string

beforeEach(async ({ task }) => {
  const isShort = task.name.includes('five seconds')
  postgres = await startReplicatedPostgres({ standbyAhead: isShort || FULL_SIZE ? 0 : AWAY_SECONDS })
  const config = makeConfig({ DATABASE_URL: postgres.url, ...settings })
  context = await createContext(config)
  account = await makeAccount(context.db)
  application = await makeApplication(context.db, config, account.slug)
  user = await makeUser(context.db, account.slug)
  servers = await Promise.all([startServer(), startServer()])
  code = await new Device(address(0), application).code()
  await startSession({ context, config, account }, user)
  const about = { accountId: account.id, userId: user.id, applicationId: application.id }
  const grant = await placeIssuedGrant(context, { ...about, variant: 'access_key' })
  accessKey = makeAccessKey(config.keys, grant)
  await expect.poll(() => askVerify(address(0), accessKey), SOON).toBe(200)
})
afterEach(async () => {
  await Promise.all(servers.map((server) => server.kill('SIGKILL')))
  await closeContext(context)
  await postgres.remove()
})

const startServer = () => startServerProcess({ DATABASE_URL: postgres.url, ...settings })
const address = (index: number) => servers[index]?.address ?? ''

async function beAway(seconds = FULL_SIZE ? AWAY_SECONDS : 5): Promise<void> {
  postgres.primary.stop()
  await sleep(seconds * 1_000)
}

/** Everything from now on is lost with the primary. */
async function loseFromNowOn(): Promise<void> {
  await postgres.commitAlone()
  await postgres.detachStandby()
}

const revoke = async (index: number) => {
  const form = { SVCappid: application.id, SVCsecret: application.secret, access_key: accessKey }
  return (await post(address(index), '/auth/key/revoke', { form })).status
}

const restored = async (index: number) => {
  const { body } = await post(address(index), '/health/ready', { method: 'GET' })
  return body.restore ?? null
}

async function readOpen() {
  const [counts] = await runStatements(
    postgres.url,
    `select (select count(*)::integer from device_codes where status = 'pending') as codes,
       (select count(*)::integer from sessions) as sessions, (select count(*)::integer from restores) as restores`,
  )
  return counts
}

/** A second record of the history: the first process has recorded it. */
const isSettled = async () => (await readOpen()).restores === 2

async function expectAllClosed(): Promise<void> {
  await expect.poll(isSettled, SOON).toBe(true)
  expect(await readOpen()).toMatchObject({ codes: 0, sessions: 0 })
  expect(await restored(0)).toBe('unfinished')
}

it('F54: after ten minutes without PostgreSQL, a standby that has everything closes no code and ends no session', async () => {
  await beAway()
  await postgres.failOver()
  await expect.poll(isSettled, SOON).toBe(true)
  expect(await readOpen()).toMatchObject({ codes: 1, sessions: 1 })
  expect([await restored(0), await restored(1)]).toEqual([null, null])
  const device = new Device(address(1), application)
  expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
  const entered = await enterUserCode(context, user.id, code.user_code)
  if (entered.outcome !== 'claimed') throw new Error(`the code was ${entered.outcome}`)
  expect((await grantDeviceCode(context, user.id, entered.code)).outcome).toBe('granted')
  await expect.poll(async () => (await device.poll(code.device_code)).status, SOON).toBe(200)
  for (const server of servers) expect(server.log()).not.toContain('"event":"restored"')
})

it('F55: after ten minutes without PostgreSQL, a revocation that one process saw confirmed and the standby lacks is noticed, and everything of before is closed', async () => {
  await loseFromNowOn()
  expect(await revoke(1)).toBe(200)
  await beAway()
  await postgres.failOver()
  await expectAllClosed()
  expect((await new Device(address(0), application).poll(code.device_code)).body.error).toBe('invalid')
})

it('F55: the same after five seconds: a loss that is proven is no failover', async () => {
  await loseFromNowOn()
  expect(await revoke(1)).toBe(200)
  await beAway(5)
  await postgres.failOver()
  await expectAllClosed()
})

it('F56: a process that ended in ten minutes without PostgreSQL can say nothing: everything of before is closed', async () => {
  await loseFromNowOn()
  expect(await revoke(1)).toBe(200)
  postgres.primary.stop()
  await servers[1]?.kill('SIGKILL')
  await beAway()
  await postgres.failOver()
  await expectAllClosed()
})

it('F56: a process that ended in ten minutes without PostgreSQL is missed also where nothing was lost', async () => {
  postgres.primary.stop()
  await servers[1]?.kill('SIGKILL')
  await beAway()
  await postgres.failOver()
  await expectAllClosed()
})

it('F56: a process that ended in five seconds without PostgreSQL leaves a restore to finish, and nothing is closed', async () => {
  postgres.primary.stop()
  await servers[1]?.kill('SIGKILL')
  await beAway(5)
  await postgres.failOver()
  await expect.poll(isSettled, SOON).toBe(true)
  expect(await readOpen()).toMatchObject({ codes: 1, sessions: 1 })
  expect(await restored(0)).toBe('unfinished')
})

it('F36: without a journal, an older backup under processes that were stopped and started closes everything of before', async () => {
  await loseFromNowOn()
  expect(await revoke(1)).toBe(200)
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  await beAway()
  await postgres.failOver()
  servers = [await startServer()]
  await expectAllClosed()
})
