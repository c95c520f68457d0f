/** docs/operations.md, "When PostgreSQL or Redis is unavailable": one process of two cannot reach an engine, and the other can. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Device, post } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { type FaultProxy, startFaultProxy } from '../../rig/network/fault-proxy.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const SOON = { timeout: 30_000, interval: 200 }

let service: TestService
let proxies: { readonly postgres: FaultProxy; readonly redis: FaultProxy }
let cutOff: ServerProcess
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL'), POLL_INTERVAL: '1' })
  const behind = async (url: string) => startFaultProxy({ port: Number(new URL(url).port) })
  proxies = { postgres: await behind(service.database.url), redis: await behind(engineUrl('REDIS_URL')) }
  const by = (url: string, { port }: FaultProxy) => url.replace(/:\d+/, `:${port}`)
  cutOff = await startServerProcess({
    DATABASE_URL: by(service.database.url, proxies.postgres),
    REDIS_URL: by(engineUrl('REDIS_URL'), proxies.redis),
    POLL_INTERVAL: '1',
  })
})
afterAll(async () => {
  await cutOff.kill('SIGKILL')
  await Promise.all([proxies.postgres.stop(), proxies.redis.stop()])
  await service.stop()
})

const ready = (address: string) => post(address, '/health/ready', { method: 'GET' })
const said = async (device: Device, deviceCode: string) => {
  const { status, body } = await device.poll(deviceCode)
  return status === 200 ? 'accepted' : body.error
}

it('F22: a process that cannot reach PostgreSQL is not ready and answers nothing final; the other one serves', async () => {
  const [there, here] = [new Device(cutOff.address, service.application), service.device()]
  const [undelivered, pending] = [await there.code(), await there.code()]
  expect(await said(there, pending.device_code)).toBe('auth_pending')
  expect(await service.grant(undelivered.user_code)).toBe('granted')
  proxies.postgres.silence()
  try {
    await expect.poll(async () => (await ready(cutOff.address)).status, SOON).toBe(503)
    expect((await there.request()).body.error).toBe('unavailable')
    for (const { device_code } of [undelivered, pending]) {
      expect(await said(there, device_code)).toMatch(/^(auth_pending|slow_down)$/)
    }
    expect((await ready(service.address)).status).toBe(200)
    const code = await here.code()
    expect(await service.grant(code.user_code)).toBe('granted')
    expect([await said(here, code.device_code), await said(here, code.device_code)]).toEqual(['accepted', 'invalid'])
  } finally {
    proxies.postgres.heal()
  }
  await expect.poll(async () => (await ready(cutOff.address)).status, SOON).toBe(200)
  await expect.poll(() => said(there, undelivered.device_code), SOON).toBe('accepted')
  expect(await said(here, undelivered.device_code)).toBe('invalid')
})

it('F23: a process that cannot reach Redis is ready, paces on its own, and answers what is right', async () => {
  const [there, here] = [new Device(cutOff.address, service.application), service.device()]
  const [granted, rejected] = [await there.code(), await there.code()]
  expect(await said(there, granted.device_code)).toBe('auth_pending')
  proxies.redis.silence()
  try {
    await expect.poll(() => said(there, granted.device_code), SOON).toMatch(/^(auth_pending|slow_down)$/)
    await expect.poll(async () => (await ready(cutOff.address)).body, SOON).toEqual({ status: 'ready', gate: 'down' })
    const code = await there.code()
    expect(await said(there, code.device_code)).toBe('auth_pending')
    expect(await said(there, code.device_code)).toBe('slow_down')
    expect(await service.grant(granted.user_code)).toBe('granted')
    expect(await service.reject(rejected.user_code)).toBe('rejected')
    await expect.poll(() => said(there, granted.device_code), SOON).toBe('accepted')
    await expect.poll(() => said(there, rejected.device_code), SOON).toBe('auth_rejected')
    for (const device of [there, here]) {
      expect([await said(device, granted.device_code), await said(device, rejected.device_code)]).toEqual([
        'invalid',
        'invalid',
      ])
    }
  } finally {
    proxies.redis.heal()
  }
  const code = await there.code()
  const gate = async () => {
    await there.poll(code.device_code)
    return (await ready(cutOff.address)).body.gate
  }
  await expect.poll(gate, SOON).toBe('up')
})
