/**
 * docs/interface/device-flow.md, "Statuses and transitions", row by row, over HTTP, on PostgreSQL, with each gate, in both variants.
 * Time is PostgreSQL's, so the rows about expiry move that clock; the rows about pacing wait for real.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { type Device, pollWithin, type WireAnswer, type WireVariant } from '../rig/device.ts'
import { gates } from '../rig/engines/gates.ts'
import { makeAccount, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { againAfterStandstill } from '../rig/standstill.ts'
import { digestOf } from '../rig/witness.ts'

const timely = againAfterStandstill()

const INTERVAL_MS = 1_000
const LIFETIME_MS = 600_000

describe.each(gates)('with $name', timely, ({ environment }) => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ ...environment(), POLL_INTERVAL: String(INTERVAL_MS / 1000) }, { clock: true })
  })
  afterAll(() => service.stop())

  const expired = () => service.database.advance(LIFETIME_MS + 1)
  const statusOf = async (userCode: string) => {
    const [row] = await service.database.query<{ status: string }>(
      'select status from device_codes where user_code_digest = $1 order by created_at desc limit 1',
      [digestOf(service, userCode)],
    )
    return row?.status
  }

  describe.each<WireVariant>(['oauth', 'key'])('in the %s variant', (variant) => {
    let device: Device
    beforeAll(() => {
      device = service.device(variant)
    })

    it('(none), code request: becomes pending and returns the record', async () => {
      const code = await device.code({ state: 'kitchen' })
      expect(code).toEqual({
        device_code: expect.stringMatching(/^lkd_0000[A-Za-z0-9_-]{55}$/),
        user_code: expect.stringMatching(/^\d{9}$/),
        verification_url: '',
        expires_in: LIFETIME_MS / 1000,
        interval: INTERVAL_MS / 1000,
        state: 'kitchen',
      })
      expect(await statusOf(code.user_code)).toBe('pending')
    })

    it('pending, poll that respects the interval: stays pending, answers auth_pending', async () => {
      const code = await device.code()
      expectError(await device.poll(code.device_code), 'auth_pending')
      await sleep(INTERVAL_MS)
      expectError(await device.poll(code.device_code), 'auth_pending')
      expect(await statusOf(code.user_code)).toBe('pending')
    })

    it('pending, poll faster than the interval: stays pending, answers slow_down and does not move the clock', async () => {
      const {
        code,
        first,
        second: early,
      } = await pollWithin(device, { pauseMs: INTERVAL_MS / 2, withinMs: 0.9 * INTERVAL_MS })
      expectError(first, 'auth_pending')
      expectError(early, 'slow_down')
      expect(early.headers['retry-after']).toBe('1')
      await sleep(INTERVAL_MS / 2)
      expectError(await device.poll(code.device_code), 'auth_pending')
      expect(await statusOf(code.user_code)).toBe('pending')
    })

    it('pending, user grants before expiry: becomes accepted, and the next poll returns the credentials', async () => {
      const code = await device.code({ state: 'a b&c' })
      expectError(await device.poll(code.device_code), 'auth_pending')
      expect(await service.grant(code.user_code)).toBe('granted')
      expect(await statusOf(code.user_code)).toBe('accepted')
      // Early, too: the outcome of a code beats its pacing.
      const answer = await device.poll(code.device_code)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual(
        variant === 'oauth'
          ? {
              access_token: expect.stringMatching(/^lka_/),
              refresh_token: expect.stringMatching(/^lkr_/),
              expires_in: 3600,
              scope: 'orders:read',
              state: 'a b&c',
            }
          : { access_key: expect.stringMatching(/^lkk_/), scope: 'orders:read', state: 'a b&c' },
      )
    })

    it('pending, user rejects before expiry: becomes rejected, and the next poll answers auth_rejected', async () => {
      const code = await device.code()
      expect(await service.reject(code.user_code)).toBe('rejected')
      expect(await statusOf(code.user_code)).toBe('rejected')
      expectError(await device.poll(code.device_code), 'auth_rejected')
    })

    it('pending, expires_in seconds have elapsed: is expired, and the next poll answers auth_expired', async () => {
      const code = await device.code()
      await expired()
      expect(await service.grant(code.user_code)).toBe('not_recognised')
      expectError(await device.poll(code.device_code), 'auth_expired')
    })

    it('pending, a user of another account than the claimant enters the code: the next poll answers auth_expired, before expiry', async () => {
      const code = await device.code()
      const stranger = await makeUser(service.context.db, (await makeAccount(service.context.db)).slug)
      await enterUserCode(service.context, service.user.id, code.user_code)
      expectError(await device.poll(code.device_code), 'auth_pending')
      expect((await enterUserCode(service.context, stranger.id, code.user_code)).outcome).toBe('closed')
      expect(await service.grant(code.user_code)).toBe('closed')
      expectError(await device.poll(code.device_code), 'auth_expired')
      expectError(await device.poll(code.device_code), 'invalid')
      expect(await statusOf(code.user_code)).toBe('used')
    })

    it('accepted, poll returning the credentials: becomes used', async () => {
      const code = await device.code()
      await service.grant(code.user_code)
      expect((await device.poll(code.device_code)).status).toBe(200)
      expectError(await device.poll(code.device_code), 'invalid')
      expect(await statusOf(code.user_code)).toBe('used')
    })

    it('rejected, poll returning auth_rejected: becomes used once the response was sent', async () => {
      const code = await device.code()
      await service.reject(code.user_code)
      expectError(await device.poll(code.device_code), 'auth_rejected')
      expectError(await device.poll(code.device_code), 'invalid')
      expect(await statusOf(code.user_code)).toBe('used')
    })

    it('expired, poll returning auth_expired: becomes used once the response was sent', async () => {
      const code = await device.code()
      await expired()
      expectError(await device.poll(code.device_code), 'auth_expired')
      expectError(await device.poll(code.device_code), 'invalid')
      expect(await statusOf(code.user_code)).toBe('used')
    })

    it('used, any poll: stays used, answers invalid (DC-05: at once, an hour later, thirty days later)', async () => {
      const code = await device.code()
      await service.grant(code.user_code)
      expect((await device.poll(code.device_code)).status).toBe(200)
      for (const later of [0, 3_600_000, 30 * 86_400_000]) {
        await service.database.advance(later)
        await service.context.applications.refresh()
        expectError(await device.poll(code.device_code), 'invalid')
      }
    })

    it('accepted, rejected, expired and used: the user code is no longer active', async () => {
      const [accepted, rejected, used, old] = await Promise.all([
        device.code(),
        device.code(),
        device.code(),
        device.code(),
      ])
      await service.grant(accepted.user_code)
      await service.reject(rejected.user_code)
      await service.grant(used.user_code)
      await device.poll(used.device_code)
      for (const { user_code } of [accepted, rejected, used]) {
        expect(await service.grant(user_code)).toBe('not_recognised')
        expect(await service.reject(user_code)).toBe('not_recognised')
      }
      await expired()
      expect(await service.grant(old.user_code)).toBe('not_recognised')
    })

    it('accepted, not collected: is delivered after the expiry, too, for a day', async () => {
      const code = await device.code()
      await service.grant(code.user_code)
      await service.database.advance(LIFETIME_MS + 23 * 3_600_000)
      expect((await device.poll(code.device_code)).status).toBe(200)
    })
  })
})

function expectError(answer: WireAnswer, error: string): void {
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 400, error })
  expect(Object.keys(answer.body)).toEqual(['error', 'message'])
  expect(answer.body.message).toMatch(/\w+ \w+/)
}
