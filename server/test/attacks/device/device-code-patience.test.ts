/** DC-10: a device that polls for a long time, on a clock that the test moves. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'

const INTERVAL_SECONDS = 5
const POLLS = sized(1_000, 200)

let service: TestService
beforeAll(async () => {
  const settings = {
    POLL_INTERVAL: String(INTERVAL_SECONDS),
    DEVICE_CODE_LIFETIME: String(INTERVAL_SECONDS * (POLLS + 10)),
  }
  // The gate in process uses the process's clock, which can be moved; Redis has its own.
  service = await startTestService(settings, { clock: true })
})
afterAll(() => service.stop())
afterEach(() => vi.restoreAllMocks())

it(`DC-10: ${figure(POLLS)} polls of a pending code at the interval answer auth_pending every time`, async () => {
  const device = service.device()
  const code = await device.code()
  const monotonicMs = performance.now.bind(performance)
  let aheadMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => monotonicMs() + aheadMs)
  const answers: Record<string, number> = {}
  for (let poll = 0; poll < POLLS; poll += 1) {
    const { error } = (await device.poll(code.device_code)).body
    answers[error] = (answers[error] ?? 0) + 1
    aheadMs += INTERVAL_SECONDS * 1000
    await service.database.advance(INTERVAL_SECONDS * 1000)
  }
  expect(answers).toEqual({ auth_pending: POLLS })

  expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
  expect((await device.poll(code.device_code)).body.error, 'the pace is kept').toBe('slow_down')
}, 120_000)
