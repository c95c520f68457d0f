/** docs/interface/device-flow.md, "Delivery": confirming that an answer was sent, and what may be sent again. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startService } from '../../../src/app.ts'
import { showDeviceCode } from '../../../src/flows/device/decide.ts'
import { isConnected } from '../../../src/flows/device/read-delivery.ts'
import { Device } from '../../rig/device.ts'
import { refresh } from '../../rig/dialog.ts'
import { refuseWrites } from '../../rig/engines/refused-writes.ts'
import { makeConfig } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { codeRow, collected } from '../../rig/witness.ts'

const PATIENCE = { timeout: 30_000 }

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

async function granted(device: Device) {
  const code = await device.code()
  expect(await service.grant(code.user_code)).toBe('granted')
  return code
}

async function isShownConnected(userCode: string): Promise<boolean> {
  const { context, account } = service
  const shown = await showDeviceCode(context.db, context.config.keys, userCode)
  return shown !== null && isConnected(context, account.id, shown.code)
}

it('a sent answer is confirmed as soon as PostgreSQL answers: the code is used, and no later poll gets the outcome', async () => {
  const device = service.device()
  const code = await granted(device)
  const refused = await refuseWrites(service.database, 'update', "new.status = 'used'")
  expect((await device.poll(code.device_code)).status).toBe(200)
  await expect.poll(refused.count, PATIENCE).toBeGreaterThanOrEqual(2)
  expect(await isShownConnected(code.user_code)).toBe(false)
  await refused.lift()
  await collected(service, code.user_code)
  expect(await isShownConnected(code.user_code)).toBe(true)
  expect((await device.poll(code.device_code)).body.error).toBe('invalid')
})

it('a stopping process keeps trying, and does not end before the answer is confirmed', async () => {
  const ending = await startService(makeConfig({ DATABASE_URL: service.database.url }))
  const code = await granted(service.device())
  const refused = await refuseWrites(service.database, 'update', "new.status = 'used'")
  expect((await new Device(ending.address, service.application, 'oauth').poll(code.device_code)).status).toBe(200)
  await expect.poll(refused.count, PATIENCE).toBeGreaterThanOrEqual(1)
  const before = await refused.count()
  const stopped = ending.stop()
  await expect.poll(refused.count, PATIENCE).toBeGreaterThanOrEqual(before + 2)
  await refused.lift()
  await stopped
  expect(await codeRow(service, code.user_code)).toMatchObject({ status: 'used' })
})

it('a poll repeated with its Idempotency-Key issues nothing once the token set was refreshed', async () => {
  const device = service.device()
  const code = await granted(device)
  const repeat = () => device.poll(code.device_code, { 'idempotency-key': 'one-poll' })
  const first = await repeat()
  expect([first.status, (await repeat()).status]).toEqual([200, 200])
  const renewed = await refresh(service, service.application, first.body.refresh_token)
  const again = await repeat()
  expect([again.status, again.body.error]).toEqual([400, 'invalid'])
  expect((await refresh(service, service.application, renewed.body.refresh_token)).status).toBe(200)
})
