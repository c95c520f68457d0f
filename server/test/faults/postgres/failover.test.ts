/**
 * docs/operations/high-availability.md: what is answered with a synchronous standby that is lost, frozen or promoted. Here the
 * standby is promoted by hand; `npm run verify -- failover` does it with Patroni, under load.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { makeChange } from '../../../src/flows/manage/change.ts'
import type { DeviceCodeKey } from '../../../src/store/device/codes.ts'
import { Unavailable } from '../../../src/store/postgres/postgres.ts'
import { type CodeRecord, Device } from '../../rig/device.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
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
import { makeManagementKey } from '../../rig/manage.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'

useOwnTimeouts()

const BEHIND_SECONDS = 90
const LIFETIME_SECONDS = 20
const settings = { POLL_INTERVAL: '1', DEVICE_CODE_LIFETIME: String(LIFETIME_SECONDS) }

/** The goal for the time from the new primary to the first answers. */
const RECOVERY = { timeout: 15_000, interval: 200 }

let postgres: ReplicatedPostgres
let context: Context
let server: ServerProcess
let application: MadeApplication
let user: MadeUser
beforeEach(async ({ task }) => {
  postgres = await startReplicatedPostgres(task.name.startsWith('F29') ? { standbyAhead: -BEHIND_SECONDS } : {})
  const config = makeConfig({ DATABASE_URL: postgres.url, ...settings })
  context = await createContext(config)
  const account = await makeAccount(context.db)
  application = await makeApplication(context.db, config, account.slug)
  user = await makeUser(context.db, account.slug)
  server = await startServerProcess({ DATABASE_URL: postgres.url, ...settings })
})
afterEach(async () => {
  await server.kill('SIGKILL')
  await closeContext(context)
  await postgres.remove()
})

const device = () => new Device(server.address, application)

async function poll(code: CodeRecord): Promise<string> {
  const { status, body } = await device().poll(code.device_code)
  return status === 200 ? 'accepted' : body.error
}

async function requestCode(): Promise<string> {
  const { status, body } = await device().request()
  return status === 200 ? 'a code' : `${status} ${body.error}`
}

async function claimed(code: CodeRecord): Promise<DeviceCodeKey> {
  const entered = await enterUserCode(context, user.id, code.user_code)
  if (entered.outcome !== 'claimed') throw new Error(`the code was ${entered.outcome}`)
  return entered.code
}

async function grant(code: CodeRecord): Promise<void> {
  expect(await grantDeviceCode(context, user.id, await claimed(code))).toMatchObject({ outcome: 'granted' })
}

/** Runs until its commit waits for the frozen standby, then cancels the wait: it stays committed on the primary. */
async function cancelledWhileWaiting(work: () => Promise<unknown>): Promise<unknown> {
  const working = work().catch((error: unknown) => error)
  await expect.poll(postgres.waiting, { timeout: 2_000, interval: 20 }).not.toEqual([])
  for (const pid of await postgres.waiting())
    await runStatements(postgres.primary.url, `select pg_cancel_backend(${pid})`)
  return await working
}

const statusOn = async (url: string) => (await runStatements(url, 'select status from device_codes'))[0]?.status

it('F08: a grant whose wait for the standby was cancelled is not confirmed; nothing is issued from it unless it survives', async () => {
  const code = await device().code()
  const key = await claimed(code)
  await postgres.detachStandby()
  expect(await cancelledWhileWaiting(() => grantDeviceCode(context, user.id, key))).toBeInstanceOf(Unavailable)
  // The unconfirmed commit is visible on the primary.
  expect(await statusOn(postgres.primary.url)).toBe('accepted')
  expect(await poll(code)).toBe('auth_pending')
  postgres.primary.stop()
  await postgres.failOver()
  expect(await statusOn(postgres.standby.url)).toBe('pending')
  await expect.poll(requestCode, RECOVERY).toBe('a code')
  await grant(code)
  await expect.poll(() => poll(code), RECOVERY).toBe('accepted')
  expect(await poll(code)).toBe('invalid')
})

it('F08: a change whose commit was not confirmed is answered by its repetition only when the standby has it', async () => {
  const actor = await makeManagementKey({ context, config: context.config })
  const request = { actor, network: null, idempotencyKey: 'once', content: 'POST /', dryRun: false }
  let runs = 0
  const change = () =>
    makeChange(context, request, async () => {
      runs += 1
      return runs
    })
  postgres.standby.freeze()
  expect(await cancelledWhileWaiting(change)).toBeInstanceOf(Unavailable)
  // The repetition finds the stored response and writes nothing.
  await expect(change()).rejects.toBeInstanceOf(Unavailable)
  postgres.standby.thaw()
  await expect.poll(() => change().catch(() => null), RECOVERY).toEqual({ outcome: 'done', value: 1 })
  expect(runs).toBe(1)
})

it('F09: without its standby, writes are refused within three seconds and pending polls are answered', async () => {
  const code = await device().code()
  expect(await poll(code)).toBe('auth_pending')
  postgres.standby.freeze()
  const asked = performance.now()
  expect(await requestCode()).toBe('503 unavailable')
  expect(performance.now() - asked).toBeLessThan(3_000)
  await sleep(1_000)
  expect(await poll(code)).toBe('auth_pending')
  // As Patroni does when the standby does not come back.
  const names = "alter system set synchronous_standby_names = ''"
  const withoutWaiting = ['set synchronous_commit = local', names, 'select pg_reload_conf()']
  await runStatements(postgres.primary.url, ...withoutWaiting)
  await expect.poll(requestCode, RECOVERY).toBe('a code')
})

it('F07: a primary that was frozen while its standby was promoted commits nothing, and the process goes on with the new one', async () => {
  const code = await device().code()
  await grant(code)
  postgres.primary.freeze()
  await expect.poll(requestCode, { timeout: 30_000 }).toBe('503 unavailable')
  await postgres.failOver()
  await expect.poll(requestCode, RECOVERY).toBe('a code')
  await expect.poll(() => poll(code), RECOVERY).toBe('accepted')
  postgres.primary.thaw()
  const zombie = new pg.Client({ connectionString: postgres.primary.url, query_timeout: 2_000 })
  zombie.on('error', () => {})
  await zombie.connect()
  await expect(zombie.query('create table split ()')).rejects.toThrow('timeout')
  await zombie.end()
  expect(await poll(code)).toBe('invalid')
})

it('F29: after a failover to a clock that is behind, a used code stays used, others live so much longer, and an alarm is logged', async () => {
  const [used, open] = [await device().code(), await device().code()]
  await grant(used)
  expect(await poll(used)).toBe('accepted')
  postgres.primary.stop()
  await postgres.failOver()
  await expect.poll(requestCode, RECOVERY).toBe('a code')
  await expect.poll(() => server.log(), RECOVERY).toContain('"event":"clock_jumped"')
  expect(Number(/"clock_jumped","seconds":(-?\d+)/.exec(server.log())?.[1])).toBeCloseTo(-BEHIND_SECONDS, -1)
  expect(await poll(used)).toBe('invalid')
  const [row] = await runStatements(
    postgres.url,
    `select max(expires_at) <= clock_timestamp() + interval '${BEHIND_SECONDS + LIFETIME_SECONDS} seconds' as bounded from device_codes`,
  )
  expect(row).toEqual({ bounded: true })
  await grant(open)
  await expect.poll(() => poll(open), RECOVERY).toBe('accepted')
  expect(await poll(open)).toBe('invalid')
})
