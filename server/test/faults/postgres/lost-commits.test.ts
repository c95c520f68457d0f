/**
 * docs/operations.md, "When PostgreSQL or Redis is unavailable": after PostgreSQL lost commits, running processes drop
 * the lost changes from their caches.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import { restoreApplication, suspendApplication } from '../../../src/flows/applications/manage.ts'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { askVerify } from '../../races/issued-grants.ts'
import { rotateSecret } from '../../rig/create.ts'
import { Device } from '../../rig/device.ts'
import { gates } from '../../rig/engines/gates.ts'
import { type LosingPostgres, startLosingPostgres, WAYS } from '../../rig/engines/losing-postgres.ts'
import {
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeConfig,
  makeUser,
} from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'

const settings = { POLL_INTERVAL: '1' }

/** Two seconds are promised; a machine that does other work as well needs more. */
const SOON = { timeout: 30_000, interval: 100 }

describe.each(WAYS)('after %s', (way) => {
  let postgres: LosingPostgres
  let context: Context
  let servers: readonly ServerProcess[] = []
  let account: { readonly slug: string }
  let user: MadeUser
  beforeAll(async () => {
    postgres = await startLosingPostgres(way)
    const config = makeConfig({ DATABASE_URL: postgres.url, ...settings })
    context = await createContext(config)
    account = await makeAccount(context.db)
    user = await makeUser(context.db, account.slug)
    const each = gates.slice(0, 2).map(({ environment }) => environment())
    servers = await Promise.all(
      each.map((gate) => startServerProcess({ DATABASE_URL: postgres.url, ...settings, ...gate })),
    )
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.kill('SIGKILL')))
    await closeContext(context)
    await postgres.remove()
  })

  const newApplication = () => makeApplication(context.db, context.config, account.slug)
  const everywhere = <T>(ask: (address: string) => Promise<T>) =>
    Promise.all(servers.map(({ address }) => ask(address)))
  const both = <T>(value: T) => servers.map(() => value)

  /** What a code request is answered. */
  const requested = (application: MadeApplication) => async (address: string) => {
    const { status, body } = await new Device(address, application).request()
    return status === 200 ? 'a code' : String(body.error)
  }
  const verified = (key: string) => (address: string) => askVerify(address, key)
  const polled = (application: MadeApplication, deviceCode: string) => async (address: string) => {
    const { status, body } = await new Device(address, application).poll(deviceCode)
    return status === 200 ? 'accepted' : String(body.error)
  }
  const decide = async (userCode: string, decision: typeof grantDeviceCode | typeof rejectDeviceCode) => {
    const entered = await enterUserCode(context, user.id, userCode)
    if (entered.outcome !== 'claimed') throw new Error(`the code was ${entered.outcome}`)
    return (await decision(context, user.id, entered.code)).outcome
  }
  const accessKey = async (application: MadeApplication): Promise<string> => {
    const device = new Device(servers[0]?.address ?? '', application, 'key')
    const code = await device.code()
    expect(await decide(code.user_code, grantDeviceCode)).toBe('granted')
    const answers: string[] = []
    const collected = async () => {
      const { status, body } = await device.poll(code.device_code)
      if (status === 200) answers.push(body.access_key)
      return status
    }
    await expect.poll(collected, SOON).toBe(200)
    return answers[0] ?? ''
  }

  it('every process unlearns what was lost and hears what is changed next, without a restart', async () => {
    const [suspended, rotated, kept, restored] = [
      await newApplication(),
      await newApplication(),
      await newApplication(),
      await newApplication(),
    ]
    expect((await suspendApplication(context.db, restored.id, 'before')).outcome).toBe('done')
    for (const application of [suspended, rotated, kept]) {
      await expect.poll(() => everywhere(requested(application)), SOON).toEqual(both('a code'))
    }
    const [revokedKey, keptKey] = [await accessKey(suspended), await accessKey(kept)]
    await postgres.keep()
    // Starting a standby blocks this process, and with it the proxy to PostgreSQL: wait until it answers again.
    const answers = () => context.db.query('select').then(() => true)
    await expect.poll(() => answers().catch(() => false), SOON).toBe(true)

    // In the time that will be lost.
    expect((await suspendApplication(context.db, suspended.id, 'lost', true)).outcome).toBe('done')
    expect((await restoreApplication(context.db, restored.id, 'lost')).outcome).toBe('done')
    const newSecret = { id: rotated.id, secret: await rotateSecret(context, rotated.id) }
    const lostApplication = await newApplication()
    const lostKey = await accessKey(kept)
    await expect.poll(() => everywhere(requested(suspended)), SOON).toEqual(both('application_suspended'))
    await expect.poll(() => everywhere(requested(restored)), SOON).toEqual(both('a code'))
    await expect.poll(() => everywhere(requested(newSecret)), SOON).toEqual(both('a code'))
    await expect.poll(() => everywhere(requested(lostApplication)), SOON).toEqual(both('a code'))
    await expect.poll(() => everywhere(verified(revokedKey)), SOON).toEqual(both(401))
    expect(await everywhere(verified(lostKey))).toEqual(both(200))
    expect(await everywhere(verified(keptKey))).toEqual(both(200))
    const lostCode = await new Device(servers[0]?.address ?? '', kept).code()
    for (const each of [1, 2]) {
      if (each > 1) await sleep(1_000)
      expect(await everywhere(polled(kept, lostCode.device_code))).toContain('auth_pending')
    }

    await postgres.lose()
    const back = performance.now()
    await expect.poll(() => everywhere(requested(kept)), SOON).toEqual(both('a code'))
    await expect.poll(() => everywhere(requested(suspended)), SOON).toEqual(both('a code'))
    await expect.poll(() => everywhere(requested(restored)), SOON).toEqual(both('application_suspended'))
    await expect.poll(() => everywhere(requested(newSecret)), SOON).toEqual(both('invalid_application'))
    await expect.poll(() => everywhere(requested(rotated)), SOON).toEqual(both('a code'))
    await expect.poll(() => everywhere(requested(lostApplication)), SOON).toEqual(both('invalid_application'))
    await expect.poll(() => everywhere(verified(revokedKey)), SOON).toEqual(both(200))
    await expect.poll(() => everywhere(verified(lostKey)), SOON).toEqual(both(401))
    await expect.poll(() => everywhere(polled(kept, lostCode.device_code)), SOON).toEqual(both('invalid'))
    const tookMs = Math.round(performance.now() - back)
    for (const server of servers) expect(server.log().match(/"event":"reloaded"/g), `${tookMs} ms`).toHaveLength(1)

    // What is changed now has numbers that may have been used before.
    expect((await suspendApplication(context.db, suspended.id, 'again', true)).outcome).toBe('done')
    await expect.poll(() => everywhere(requested(suspended)), SOON).toEqual(both('application_suspended'))
    await expect.poll(() => everywhere(verified(revokedKey)), SOON).toEqual(both(401))
    const code = await new Device(servers[0]?.address ?? '', kept).code()
    await everywhere(polled(kept, code.device_code))
    expect(await decide(code.user_code, rejectDeviceCode)).toBe('rejected')
    const outcome = polled(kept, code.device_code)
    await expect.poll(() => outcome(servers[0]?.address ?? ''), SOON).toBe('auth_rejected')
    expect(await everywhere(verified(keptKey))).toEqual(both(200))
  })
})
