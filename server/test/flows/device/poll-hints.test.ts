/** Hints that polls leave in the gate: a pending code is read again only where no poll has read it just before. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const device = () => service.device()

/** Whether the next poll would be answered without a read. */
async function isHinted(deviceCode: string): Promise<boolean> {
  const { context, application } = service
  const code = context.verifyDeviceCode(deviceCode, application.id)
  if (!code) throw new Error('not a device code')
  return (await context.gate.poll(code.id, 1)).pending
}

async function hold(deviceCode: string, seconds: number): Promise<void> {
  const before = service.context.heldPolls.count
  void device().poll(deviceCode, { prefer: `wait=${seconds}` })
  await expect.poll(() => service.context.heldPolls.count).toBe(before + 1)
  // Registered before its row is read.
  await new Promise((resolve) => setTimeout(resolve, 200))
}

test('a poll leaves a hint', async () => {
  const { device_code } = await device().code()
  await device().poll(device_code)
  expect(await isHinted(device_code)).toBe(true)
})

test('a held poll leaves one only if the next poll may come while it lives', async () => {
  const [short, long] = [await device().code(), await device().code()]
  await hold(short.device_code, 9)
  await hold(long.device_code, 10)
  expect(await isHinted(short.device_code)).toBe(true)
  expect(await isHinted(long.device_code)).toBe(false)
})

test('an early poll leaves one, however long it would wait: a flood is not read', async () => {
  const { device_code } = await device().code()
  await hold(device_code, 20)
  const early = await device().poll(device_code, { prefer: 'wait=20' })
  expect(early.body.error).toBe('slow_down')
  expect(await isHinted(device_code)).toBe(true)
})
