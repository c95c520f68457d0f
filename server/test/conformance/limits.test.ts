/** docs/interface.md, "Limits": the rows that the interface itself gives, over HTTP, on PostgreSQL, with each gate. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { restoreApplication, suspendApplication } from '../../src/flows/manage-application.ts'
import { openCredential } from '../../src/secrets/credentials.ts'
import { gates } from '../rig/gates.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const LIFETIME = 300

describe.each(gates)('with $name', ({ environment }) => {
  let service: TestService
  beforeAll(async () => {
    const settings = { POLL_INTERVAL: '2', DEVICE_CODE_LIFETIME: String(LIFETIME), ACCESS_TOKEN_LIFETIME: '1200' }
    service = await startTestService({ ...environment(), ...settings }, { clock: true })
  })
  afterAll(() => service.stop())

  it('polling interval: no poll faster than interval seconds; a faster one yields slow_down, one at the interval never does', async () => {
    const device = service.device()
    const { device_code, interval } = await device.code()
    const error = async () => (await device.poll(device_code)).body.error
    expect(interval).toBe(2)
    expect(await error()).toBe('auth_pending')
    await sleep(interval * 1000)
    expect(await error()).toBe('auth_pending')
    await sleep(interval * 700)
    expect(await error()).toBe('slow_down')
  })

  it('code lifetime: expires_in seconds from the code request; after it the code is expired', async () => {
    const device = service.device('key')
    const [early, late] = [await device.code(), await device.code()]
    expect(early.expires_in).toBe(LIFETIME)
    await service.database.advance((LIFETIME - 10) * 1000)
    expect((await device.poll(early.device_code)).body.error).toBe('auth_pending')
    await service.database.advance(10_000)
    expect((await device.poll(late.device_code)).body.error).toBe('auth_expired')
    expect(await service.grant(early.user_code)).toBe('not_recognised')
  })

  it('token lifetime: expires_in seconds from the accepted response', async () => {
    const device = service.device()
    const code = await device.code()
    expect(await service.grant(code.user_code)).toBe('granted')
    // The user was quick, the device is not: what counts is the response.
    await service.database.advance(3_600_000)
    const [row] = await service.database.query<{ now: Date }>('select now() as now')
    const { body } = await device.poll(code.device_code)
    const token = openCredential(service.config.keys, body.access_token)
    expect(body.expires_in).toBe(1200)
    expect(token?.is).toBe('access_token')
    const lifetimeMs = (token?.is === 'access_token' ? token.expiresAt : 0) - Number(row?.now)
    expect(Math.abs(lifetimeMs - 1_200_000)).toBeLessThan(2_000)
  })

  it('suspension: an application that ignores slow_down may be suspended pending review, and restored after it', async () => {
    const { context, application } = service
    const device = service.device()
    await suspendApplication(context.db, application.id, 'ignores slow_down')
    await context.applications.refresh()
    const refused = await device.request()
    expect([refused.status, refused.body.error]).toEqual([403, 'application_suspended'])
    await restoreApplication(context.db, application.id, 'reviewed')
    await context.applications.refresh()
    expect((await device.request()).status).toBe(200)
    const events = await service.database.query(
      "select kind from audit_events where kind like 'application.%ed' order by id",
    )
    expect(events.map((event) => event.kind)).toEqual([
      'application.created',
      'application.suspended',
      'application.restored',
    ])
  })
})
