/** docs/interface/device-flow.md, "Pacing", for an application that a review told to poll slower, with the gate in process. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { MAX_INTERVAL_SECONDS } from '../../src/core/reviews/review.ts'
import { Deciding } from '../rig/scenes/deciding.ts'

let world: Deciding
beforeAll(async () => {
  world = await Deciding.start()
})
afterAll(() => world.service.stop())

const monotonicMs = performance.now.bind(performance)
let aheadMs = 0
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => monotonicMs() + aheadMs)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** For PostgreSQL and for the process: a server whose clocks agree. */
async function pass(seconds: number): Promise<void> {
  await world.service.database.advance(seconds * 1000)
  aheadMs += seconds * 1000
}

it('slow_down holds for an interval of five minutes, from its first second to its last', async () => {
  const wish = { decision: 'reinstate_slower', intervalSeconds: MAX_INTERVAL_SECONDS } as const
  expect(await world.decide(wish)).toBe('decided')
  const device = world.service.device('oauth', world.application)
  const code = await device.code()
  expect(code.interval).toBe(300)
  const errors: string[] = []
  for (const seconds of [0, 1, 59, 65, 65, 70, 40]) {
    await pass(seconds)
    errors.push((await device.poll(code.device_code)).body.error)
  }
  // At 0, 1, 60, 125, 190, 260 and 300 seconds.
  expect(errors).toEqual(['auth_pending', ...Array.from({ length: 5 }, () => 'slow_down'), 'auth_pending'])
})

it('a device that polls again only after four minutes is told slow_down, whoever else polled meanwhile', async () => {
  const [slow, other] = [world.service.device('oauth', world.application), world.service.device('oauth')]
  const code = await slow.code()
  expect(code.interval).toBe(300)
  expect((await slow.poll(code.device_code)).body.error).toBe('auth_pending')
  for (let minute = 1; minute <= 4; minute += 1) {
    await pass(60)
    expect((await other.poll((await other.code()).device_code)).body.error).toBe('auth_pending')
  }
  expect((await slow.poll(code.device_code)).body.error).toBe('slow_down')
})
